"""The command that verifies the proof of a search: `verify`."""

import re
import sys
from pathlib import Path
from typing import Annotated

import typer

from moverank.indexer.commands.failures import FAILED
from moverank.indexer.commands.shared_options import Json

app = typer.Typer()


@app.command(epilog="Examples: `moverank verify hot.proof`  `moverank verify hot.proof -k 10 --digest $(cat digest)`")
def verify(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A proof that `search --proof` has written.")],
    digest: Annotated[
        str | None, typer.Option(metavar="HEX", help="The digest that the collection must have: `info --digest`.")
    ] = None,
    k: Annotated[int | None, typer.Option("-k", min=1, help="The number of neighbours that must be proven.")] = None,
    as_json: Json = False,
) -> None:
    """Verify a proof that the hits of a search are the nearest documents; exit code 1 if it proves nothing."""
    from moverank.indexer.errors import UsageError
    from moverank.indexer.formatters.escaping import printable
    from moverank.indexer.formatters.json_objects import verified_object
    from moverank.indexer.formatters.terminal import note, print_object
    from moverank.indexer.proofs.verify import ProofRejected
    from moverank.indexer.proofs.verify import verify as verify_proof

    if digest is not None and not re.fullmatch("[0-9a-f]{64}", digest := digest.strip().lower()):
        raise UsageError("a digest is 64 hexadecimal digits, as `info --digest` prints it")
    try:
        verified = verify_proof(file, digest, k)
    except ProofRejected as error:
        if as_json:
            print_object({"verified": False, "reason": str(error)})
        else:
            note(f"{file}: {error}")
        sys.exit(FAILED)
    if as_json:
        print_object(verified_object(verified))
    else:
        typer.echo("\n".join(map(printable, str(verified).splitlines())))
