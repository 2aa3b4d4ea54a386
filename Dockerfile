# docker build -t zombie .
# docker run --rm --read-only --user "$(id -u)" -v "$PWD/zombie:/etc/zombie:ro" zombie check node-123 --inventory nodes.toml
#
# /etc/zombie is the working folder: inventory, key, known_hosts, zombie.toml and playbooks of one's own are mounted there.
# A private key is readable by its owner only, hence --user; nothing in the image depends on which user it is.

FROM python:3.13-slim-trixie AS build
COPY requirements.lock /
RUN python -m venv /opt/zombie \
    && /opt/zombie/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r /requirements.lock \
    && /opt/zombie/bin/pip uninstall --yes pip
COPY bot /opt/zombie/app/bot
COPY playbooks /opt/zombie/app/playbooks
# Bytecode is made here, for the running image may be read-only.
RUN python -m compileall -q /opt/zombie/app \
    && printf '#!/bin/sh\nexec /opt/zombie/bin/python -P -m bot "$@"\n' > /opt/zombie/bin/zombie \
    && chmod 0755 /opt/zombie/bin/zombie

FROM python:3.13-slim-trixie
COPY --from=build /opt/zombie /opt/zombie
ENV PATH=/opt/zombie/bin:$PATH PYTHONPATH=/opt/zombie/app PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
WORKDIR /etc/zombie
# By number: Kubernetes' runAsNonRoot cannot judge a name.
USER 10001:10001
ENTRYPOINT ["zombie"]
CMD ["--help"]
