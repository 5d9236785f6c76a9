"""Games on an NVIDIA GPU: `Batch(game, n, device="cuda")`. See docs/gpu.md."""

from ttt_envs.cuda.batch import DeviceBatch

__all__ = ["DeviceBatch"]
