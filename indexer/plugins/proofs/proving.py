"""The command that verifies the proof of a search: `verify`."""

import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from moverank.indexer import formatters
from moverank.indexer.commands.failures import FAILED
from moverank.indexer.commands.shared_options import Json
from moverank.indexer.errors import UsageError

if TYPE_CHECKING:
    from moverank.indexer.plugins.proofs.verify import Verified

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
    from moverank.indexer.plugins.proofs.verify import ProofRejected
    from moverank.indexer.plugins.proofs.verify import verify as verify_proof

    if digest is not None and not re.fullmatch("[0-9a-f]{64}", digest := digest.strip().lower()):
        raise UsageError("a digest is 64 hexadecimal digits, as `info --digest` prints it")
    try:
        verified = verify_proof(file, digest, k)
    except ProofRejected as error:
        if as_json:
            formatters.print_object({"verified": False, "reason": str(error)})
        else:
            formatters.note(f"{file}: {error}")
        sys.exit(FAILED)
    if as_json:
        formatters.print_object(_verified_object(verified))
    else:
        typer.echo("\n".join(map(formatters.printable, str(verified).splitlines())))


def _verified_object(verified: "Verified") -> dict[str, Any]:
    """Return the proven facts of a proof; hits and the words of the query are objects, too."""
    hits = [{"key": key, "distance": distance} for key, distance in verified.hits]
    query = [{"word": word, "weight": weight} for word, weight in verified.query]
    return {"verified": True, **asdict(verified), "hits": hits, "query": query}
