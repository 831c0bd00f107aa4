# The package on the processor alone, with the game in the browser:
#   docker build -t iglu-marl .
#   docker run --rm iglu-marl demo                              a game in words
#   docker run --rm -v "$PWD:/games" iglu-marl demo -o demo     its pictures and replay page, here
#   docker run --rm -p 127.0.0.1:8000:8000 iglu-marl serve --host 0.0.0.0 --public-host localhost
FROM python:3.12-slim

# Exactly these files of the dependencies, whatever the index offers (`make lock`).
COPY requirements-container.txt /source/
RUN pip install --no-cache-dir --require-hashes -r /source/requirements-container.txt
COPY . /source
RUN pip install --no-cache-dir --no-deps --no-build-isolation '/source[web,postgresql]' && rm -rf /source

RUN useradd --create-home player && install -d -o player /games
USER player
WORKDIR /games
# The first games compile the kernels; here, so that no container does it again.
RUN iglu-marl demo --output /tmp/demo && rm -r /tmp/demo && python -m iglu_marl.web.warming

EXPOSE 8000
ENTRYPOINT ["iglu-marl"]
CMD ["--help"]
