"""The database: `database` runs functions in transactions, `tables` says what is kept, one query module per noun."""
