# Familiar in a container. Python runs as PID 1's child under an init, so that a stop is a gentle one (see compose.yaml).
FROM python:3.12-slim

ENV PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 PIP_NO_CACHE_DIR=1 DATA_DIR=/data XDG_CACHE_HOME=/data/cache
WORKDIR /app

# The embedded model's engine needs GCC's OpenMP library, which the slim image leaves out.
RUN apt-get update && apt-get install --yes --no-install-recommends libgomp1 && rm -rf /var/lib/apt/lists/*

COPY requirements.lock ./
RUN python -m pip install --require-hashes -r requirements.lock

COPY pyproject.toml README.md LICENSE ./
COPY adapters adapters
COPY bot bot
COPY migrations migrations
COPY personas personas

# As the documentation and all remedies call it: docker compose exec familiar familiar doctor
RUN printf '#!/bin/sh\nexec env PYTHONPATH=/app python -m bot "$@"\n' > /usr/local/bin/familiar && chmod +x /usr/local/bin/familiar
RUN useradd --create-home --uid 10001 familiar && mkdir --mode=700 /data && chown familiar /data
USER familiar
VOLUME /data
STOPSIGNAL SIGTERM
ENTRYPOINT ["python", "-m", "bot"]
CMD ["run"]
