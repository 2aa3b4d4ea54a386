# docker build --build-arg VERSION="$(./zombie --version | cut -d" " -f2)" -t zombie .
#
# One check; /etc/zombie is the working folder, with inventory, key, known_hosts, zombie.toml and one's own playbooks.
# docker run --rm --read-only --user "$(id -u)" -v "$PWD/inventory:/etc/zombie:ro" zombie check --inventory inventory.toml node-123
# The bot: its record is in the volume, and it answers on port 8080.
# docker run --read-only --env-file secrets.env -v "$PWD/inventory:/etc/zombie:ro" -v zombie-state:/var/lib/zombie -p 8080:8080 zombie serve --inventory inventory.toml
#
# A private key is readable by its owner only, hence --user; nothing in the image depends on which user it is.

FROM python:3.13-slim-trixie AS build
COPY requirements.lock /
RUN python -m venv /opt/zombie \
    && /opt/zombie/bin/pip install --no-cache-dir --require-hashes --only-binary :all: -r /requirements.lock \
    && /opt/zombie/bin/pip uninstall --yes pip
COPY bot /opt/zombie/app/bot
COPY playbooks /opt/zombie/app/playbooks
COPY LICENSE /opt/zombie/LICENSE
ARG VERSION=0+unknown
# Bytecode is made here, for the running image may be read-only.
RUN printf 'version = "%s"\n' "$VERSION" > /opt/zombie/app/bot/app/_version.py \
    && python -m compileall -q /opt/zombie/app \
    && printf '#!/bin/sh\nexec /opt/zombie/bin/python -P -m bot "$@"\n' > /opt/zombie/bin/zombie \
    && chmod 0755 /opt/zombie/bin/zombie \
    && mkdir -p /opt/zombie/share/man/man1 \
    && PYTHONPATH=/opt/zombie/app /opt/zombie/bin/zombie manual > /opt/zombie/share/man/man1/zombie.1

FROM python:3.13-slim-trixie
ARG VERSION=0+unknown
LABEL org.opencontainers.image.title="zombie" \
    org.opencontainers.image.description="Diagnoses a sick Linux node over SSH and gives one verdict a person can trust." \
    org.opencontainers.image.version="$VERSION" \
    org.opencontainers.image.licenses="Apache-2.0"
COPY --from=build /opt/zombie /opt/zombie
# Whoever runs the image may write here, as in /tmp; a new volume takes owner and mode from this folder.
RUN mkdir -m 1777 /var/lib/zombie && mkdir -p /etc/zombie
ENV PATH=/opt/zombie/bin:$PATH PYTHONPATH=/opt/zombie/app PYTHONDONTWRITEBYTECODE=1 PYTHONUNBUFFERED=1
ENV HOME=/var/lib/zombie ZOMBIE_STATE_DIR=/var/lib/zombie ZOMBIE_LISTEN=0.0.0.0:8080
VOLUME /var/lib/zombie
EXPOSE 8080
WORKDIR /etc/zombie
# By number: Kubernetes' runAsNonRoot cannot judge a name.
USER 10001:10001
# Of `serve`: is it alive? Whether it takes work, /readyz says; that is no reason to start it anew.
HEALTHCHECK --interval=30s --timeout=5s --start-period=60s CMD ["python", "-P", "-c", "import http.client, os\nfrom bot.domain.listen_address import host_and_port\nasked = http.client.HTTPConnection(*host_and_port(os.environ['ZOMBIE_LISTEN']), timeout=4)\nasked.request('GET', '/healthz')\nraise SystemExit(asked.getresponse().status != 200)"]
ENTRYPOINT ["zombie"]
CMD ["--help"]
