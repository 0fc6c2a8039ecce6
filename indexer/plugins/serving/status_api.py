"""Whether the server lives and is ready, and its metrics."""

from importlib.metadata import version
from typing import Any

from fastapi import APIRouter, Response
from fastapi.responses import PlainTextResponse

from moverank.indexer.plugins.serving.answers import InfoObject, StatusObject, sends
from moverank.indexer.plugins.serving.problem_responses import problem_response
from moverank.indexer.plugins.serving.search_api import ThisServer, describe

router = APIRouter(tags=["status"])


@router.get("/health", responses=sends(StatusObject))
async def health() -> dict[str, str]:
    """Return that the process answers."""
    return {"status": "ok"}


@router.get("/ready", responses=sends(StatusObject))
async def ready(state: ThisServer) -> Response:
    """Return whether every collection can be searched, and its database read."""
    missing = [one["name"] for one in map(describe, state.collections.values()) if not one["ready"]]
    if missing:
        return problem_response(503, f"not ready: {', '.join(missing)}", {"Retry-After": "5"})
    return Response('{"status": "ready"}', media_type="application/json")


@router.get("/metrics", response_class=PlainTextResponse)
async def metrics(state: ThisServer) -> Response:
    """Return the metrics in the format of Prometheus."""
    return Response(state.metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")


@router.get("/info", responses=sends(InfoObject))
async def info(state: ThisServer) -> dict[str, Any]:
    """Describe the server as Text Embeddings Inference does."""
    limits = state.limits
    return {
        "model_id": state.default.name,
        "model_type": {"reranker": {"id2label": {"0": "0"}, "label2id": {"0": 0}}},
        "max_client_batch_size": limits.texts,
        "max_concurrent_requests": limits.threads + limits.queue,
        "version": version("moverank"),
        "name": "moverank",
    }
