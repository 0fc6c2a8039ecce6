"""Fuzzes a running server by schemathesis, from its OpenAPI description, for some minutes; needs schemathesis.

No answer may be of 500, or take longer than the limit of a request, and the log has no traceback. Bodies that arrive
slowly, that are too long or cut off, and idle connections are among the attacks of `server_attacks.py`.
"""

import shutil
import signal
import subprocess
import sys
import sysconfig
import tempfile
from pathlib import Path

sys.path.extend(str(Path(__file__).parents[2] / name) for name in (".", ".src"))

from tests.benchmarks.common import argument_parser, show
from tests.indexer.plugins.serving.conftest import make_collection
from tests.indexer.plugins.serving.running import RunningServer

LIMIT = 40
"""Seconds that an answer may take at most: the server's limit, and what a busy machine adds."""


def fuzz(server: RunningServer, seconds: int) -> bool:
    """Run schemathesis for so long; return whether it found nothing."""
    program = shutil.which("schemathesis", path=sysconfig.get_path("scripts")) or shutil.which("schemathesis")
    if program is None:
        raise SystemExit("schemathesis is missing: python -m pip install schemathesis")
    command = [
        program,
        "run",
        f"{server.url}/openapi.json",
        "--checks",
        "not_a_server_error",
        "--exclude-operation-id",  # JSONL, which schemathesis cannot write
        "add_documents_collections__name__documents_post",
        "--max-time",
        str(seconds),
    ]
    command += ["--phases", "examples,coverage,fuzzing", "--continue-on-failure", "--max-response-time", str(LIMIT)]
    command += ["--suppress-health-check", "all", "--warnings", "off"]
    return subprocess.run(command, check=False).returncode == 0


def main() -> None:
    """Fuzz, and exit with 1 if anything was found."""
    parser = argument_parser(__doc__)
    parser.add_argument("--seconds", type=int, default=300)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="moverank-fuzz-") as name:
        folder = Path(name)
        server = RunningServer("-i", make_collection(folder), log=folder / "log")
        try:
            clean = fuzz(server, arguments.seconds)
            show(f"schemathesis for {arguments.seconds} s: {'nothing found' if clean else 'FAILURES'}")
        except BaseException:
            server.stop(signal.SIGKILL)
            raise
        code = server.stop(signal.SIGTERM)
        log = (folder / "log").read_text()
        show(f"the server ended with {code}; tracebacks in its log: {log.count('Traceback')}")
        if not clean or code or "Traceback" in log or "a request failed" in log:
            show(log[-3000:])
            sys.exit(1)


if __name__ == "__main__":
    main()
