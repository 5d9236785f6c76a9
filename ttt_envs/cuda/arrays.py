"""Arrays on the GPU that torch, JAX and CuPy take without a copy. In Numba's simulator they are NumPy arrays."""

from importlib import import_module
from typing import Any

import numpy as np

from ttt_envs.cuda.kernels import SIMULATED, cuda

_Base: Any = object if SIMULATED else import_module("numba.cuda.cudadrv.devicearray").DeviceNDArray


class Array(_Base):
    """A Numba device array, which has `__cuda_array_interface__`, extended by DLPack."""

    def _view(self) -> Any:
        return import_module("cuda.core.utils").StridedMemoryView.from_cuda_array_interface(self, stream_ptr=-1)

    def __dlpack__(self, **options: Any) -> Any:
        return self._view().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._view().__dlpack_device__()
        return device


def room(shape: tuple[int, ...], dtype: Any) -> Any:
    """Allocate an array on the GPU whose first index varies fastest."""
    if SIMULATED:
        return np.zeros(shape, dtype, order="F")
    array = cuda.device_array(shape, dtype, order="F")
    return Array(array.shape, array.strides, array.dtype, gpu_data=array.gpu_data)


def on_device(values: np.ndarray) -> Any:
    """Copy values to the GPU."""
    array = room(values.shape, values.dtype)
    put(array, values)
    return array


def put(array: Any, values: np.ndarray) -> None:
    """Copy values from the host into an existing array."""
    if SIMULATED:
        array[...] = values
    else:
        array.copy_to_device(np.asarray(values, order="F"))


def from_others(array: Any) -> Any:
    """View a GPU array of torch, JAX, CuPy or Numba as a Numba array; raise TypeError for anything else."""
    if SIMULATED:
        return np.asarray(array)
    if not hasattr(array, "__cuda_array_interface__"):
        kind = f"{type(array).__module__}.{type(array).__name__}"
        raise TypeError(f"expected an array on the GPU, such as a torch tensor on 'cuda', not {kind}")
    return cuda.as_cuda_array(array, sync=False)


def columns(array: Any) -> Any:
    """View a one-dimensional array as a column; return any other array unchanged."""
    if array.ndim != 1:
        return array
    if SIMULATED:
        return array[:, None]
    return Array((*array.shape, 1), (*array.strides, array.dtype.itemsize), array.dtype, gpu_data=array.gpu_data)


def seat(array: Any, player: int) -> Any:
    """Return `array[:, player]` of a 3-d array. Numba's own slicing would take the last index for the fastest."""
    if SIMULATED:
        return array[:, player]
    (n, _, size), (first, second, third) = array.shape, array.strides
    data = array.gpu_data.view(player * second, player * second + (size - 1) * third + n * first)
    return Array((n, size), (first, third), array.dtype, gpu_data=data)
