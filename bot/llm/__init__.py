"""Language models behind one interface: values in `model`, the OpenAI client in `client`, text rules in `stream`."""
