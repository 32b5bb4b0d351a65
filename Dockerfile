# The workbook's environment, from the lock: docker build -t alignbook .
# The packages are inside, the project folder is mounted when it runs (docs/at-scale.md), so that code,
# data, results and the store are the ones outside:
#   docker run --rm -v "$PWD:/alignbook" alignbook --profile smoke
# --build-arg GPU=yes adds NVIDIA's libraries; then run it with --gpus all.
FROM python:3.12-slim-bookworm
ARG GPU=no
RUN apt-get update \
    && apt-get install -y --no-install-recommends git libgl1 libglib2.0-0 \
    && rm -rf /var/lib/apt/lists/*
# The environment alone decides when this layer is built again.
COPY run_all.sh requirements.lock requirements.in pyproject.toml README.md LICENSE /build/
COPY lib/alignbook/ /build/lib/alignbook/
ENV ALIGNBOOK_ENV=/opt/alignbook
RUN python -m venv /opt/alignbook \
    && ALIGNBOOK_GPU=$GPU UV_CACHE_DIR=/tmp/uv /build/run_all.sh doctor; \
    test -e /opt/alignbook/.alignbook/requirements.lock \
    && rm -rf /tmp/uv /build
# From here on the environment is used as it is; who runs it need not be root.
ENV ALIGNBOOK_INSTALL=no
WORKDIR /alignbook
ENTRYPOINT ["/alignbook/run_all.sh"]
