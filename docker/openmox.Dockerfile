# openmox itself, for programs in a mounted folder. Built from the folder of the source:
#   docker build -f docker/openmox.Dockerfile -t openmox:latest .
#   docker build -f docker/openmox.Dockerfile -t openmox:gpu --build-arg EXTRA=gpu .
# BASE is any image with Python 3.11 to 3.13 as `python`. EXTRA=gpu installs the CUDA libraries as
# Python packages; with a BASE that has those of TensorFlow 2.21 leave it empty.
ARG BASE=python:3.12-slim-bookworm

FROM ${BASE} AS build
WORKDIR /source
COPY pyproject.toml README.md LICENSE ./
COPY src ./src
RUN python -m pip wheel --no-cache-dir --no-deps --wheel-dir /wheels .

FROM ${BASE}
ARG EXTRA=
# Bases of Debian and Ubuntu may keep pip out of their own Python.
ENV PIP_BREAK_SYSTEM_PACKAGES=1 \
    PIP_ROOT_USER_ACTION=ignore \
    PYTHONUNBUFFERED=1 \
    NVIDIA_VISIBLE_DEVICES=all \
    NVIDIA_DRIVER_CAPABILITIES=compute,utility
# The ranges of versions are in pyproject.toml.
# hadolint ignore=DL3013
RUN --mount=type=bind,from=build,source=/wheels,target=/wheels \
    set -- /wheels/*.whl \
    && python -m pip install --no-cache-dir "$1${EXTRA:+[$EXTRA]}"
WORKDIR /data
CMD ["mox", "--help"]
