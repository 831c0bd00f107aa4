# The package on the processor alone, with the game in the browser:
#   docker build -t iglu-marl .
#   docker run --rm iglu-marl demo                              a game in words
#   docker run --rm -v "$PWD:/games" iglu-marl demo -o demo     its pictures and replay page, here
#   docker run --rm -p 127.0.0.1:8000:8000 iglu-marl serve --host 0.0.0.0 --public-host localhost
FROM python:3.12-slim

ARG EXTRAS=web
COPY . /source
RUN pip install --no-cache-dir "/source[${EXTRAS}]" && rm -rf /source

RUN useradd --create-home player && install -d -o player /games
USER player
WORKDIR /games
# The first game compiles the kernels; here, so that no container does it again.
RUN iglu-marl demo --output /tmp/demo && rm -r /tmp/demo

EXPOSE 8000
ENTRYPOINT ["iglu-marl"]
CMD ["--help"]
