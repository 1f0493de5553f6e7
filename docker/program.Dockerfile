# A program and openmox, laid out as UAI Train expects: code in /data, data in /data/data, results in
# /data/output. Built from the folder of the program:
#   docker build -f program.Dockerfile -t my-training:1 .
#   docker build -f program.Dockerfile -t my-training:1-gpu --build-arg BASE=openmox:gpu .
# BASE is an image made by openmox.Dockerfile.
ARG BASE=openmox:latest
FROM ${BASE}
# A training platform starts `python /data/train.py`: that then does what `mox run` does, for
# programs that import moxing and those that use what TensorFlow 2.x no longer has.
RUN mox legacy on --all
WORKDIR /data
COPY . .
RUN if [ -f requirements.txt ]; then python -m pip install --no-cache-dir -r requirements.txt; fi
CMD ["mox", "--help"]
