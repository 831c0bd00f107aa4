# The game as an environment of OpenEnv. From the root of a clone:
#   docker build -f examples/openenv.Dockerfile -t iglu-marl-openenv .
#   docker run -p 8000:8000 iglu-marl-openenv
FROM python:3.12-slim
WORKDIR /src
COPY . .
RUN pip install --no-cache-dir ".[openenv]"
# Compiled code is kept here; the first start compiles, before anybody is let in.
ENV IGLU_MARL_CACHE=/var/cache/iglu_marl
EXPOSE 8000
ENTRYPOINT ["iglu-marl", "serve-openenv", "--host", "0.0.0.0"]
CMD ["--port", "8000"]
