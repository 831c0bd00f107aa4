"""The files of docs/deploy: nginx with the server behind it, and the services of the containers."""

from __future__ import annotations

import json
import os
import re
import shutil
import socket
import subprocess
import urllib.request
from pathlib import Path

import pytest

pytest.importorskip("starlette")
pytest.importorskip("uvicorn")
pytest.importorskip("websockets")

from requirements import ROOT, require
from test_serve import free_port, served, until_answered
from typer.testing import CliRunner
from websockets.sync.client import connect

from iglu_marl.cli import app as command

DEPLOY = ROOT / "docs/deploy"
NAME = "game.example.org"


def nginx_files(folder: Path, port: int, behind: str) -> Path:
    """The configuration of the page, without its certificate, at this port."""
    text = (DEPLOY / "nginx.conf").read_text("utf-8")
    text = re.sub(r"^ *ssl_.*\n", "", text, flags=re.M).replace("listen 443 ssl", f"listen {port}")
    text = text.replace("127.0.0.1:8000", behind)
    paths = "".join(
        f"{kind}_temp_path {folder};" for kind in ("client_body", "proxy", "fastcgi", "uwsgi", "scgi")
    )
    user = "user root;" if os.getuid() == 0 else ""
    whole = f"{user} daemon off; pid {folder}/pid; error_log {folder}/log; events {{}}\n"
    path = folder / "nginx.conf"
    path.write_text(whole + f"http {{ access_log off; {paths}\n{text}}}", "utf-8")
    return path


@pytest.mark.slow
@pytest.mark.system
def test_a_game_behind_nginx(tmp_path: Path) -> None:
    program = shutil.which("nginx")
    require("nginx", program, "nginx is not installed")
    port = free_port()
    with served(tmp_path / "games", "--public-host", NAME) as (host, _):
        words = [str(program), "-c", str(nginx_files(tmp_path, port, host))]
        with subprocess.Popen(words) as nginx:
            try:
                until_answered(f"127.0.0.1:{port}")
                for _ in range(300):  # a class that opens its pages at once, from one address
                    urllib.request.urlopen(f"http://127.0.0.1:{port}/static/play.js", timeout=30).close()
                body = json.dumps({"role": "builder", "partner": "scripted", "task": "bridge"}).encode()
                headers = {"host": NAME, "origin": f"http://{NAME}", "content-type": "application/json"}
                request = urllib.request.Request(f"http://127.0.0.1:{port}/api/games", body, headers)
                with urllib.request.urlopen(request, timeout=60) as answer:
                    token = json.load(answer)["token"]
                with connect(
                    f"ws://{NAME}/ws",
                    sock=socket.create_connection(("127.0.0.1", port)),
                    origin=f"http://{NAME}",  # type: ignore[arg-type]
                ) as page:
                    page.send(json.dumps({"t": "join", "token": token}))
                    assert json.loads(page.recv(timeout=30))["role"] == "builder"
            finally:
                nginx.terminate()


def test_the_containers_start_what_there_is() -> None:
    yaml = pytest.importorskip("yaml")
    services = yaml.safe_load((DEPLOY / "compose.yaml").read_text("utf-8"))["services"]
    assert (DEPLOY / services["game"]["build"]["context"] / "Dockerfile").resolve() == ROOT / "Dockerfile"
    words = services["game"]["command"]
    known = CliRunner().invoke(command, [words[0], "--help"], env={"COLUMNS": "200", "NO_COLOR": "1"}).output
    for word in words[1:]:
        assert word.partition("=")[0] in known, word
    inside = services["caddy"]["networks"]["inside"]["ipv4_address"]
    assert f"--proxy={inside}" in words
    caddy = (DEPLOY / "Caddyfile").read_text("utf-8")
    assert "game:8000" in caddy
    assert "{remote_host}" in caddy
    password = {one["environment"].get("POSTGRES_PASSWORD") for one in (services["db"],)}
    assert f":{password.pop()}@db/" in "".join(words)
