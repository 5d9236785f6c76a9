"""Arrays on the GPU that torch, JAX and CuPy take without a copy. In Numba's simulator they are NumPy's."""

from importlib import import_module
from typing import Any

import numpy as np

from ttt_envs.cuda.kernels import SIMULATED, cuda

_Base: Any = object if SIMULATED else import_module("numba.cuda.cudadrv.devicearray").DeviceNDArray


class Array(_Base):
    """An array of Numba's, with its `__cuda_array_interface__`, that also speaks DLPack."""

    def _view(self) -> Any:
        return import_module("cuda.core.utils").StridedMemoryView.from_cuda_array_interface(self, stream_ptr=-1)

    def __dlpack__(self, **options: Any) -> Any:
        return self._view().__dlpack__(**options)

    def __dlpack_device__(self) -> tuple[int, int]:
        device: tuple[int, int] = self._view().__dlpack_device__()
        return device


def room(shape: tuple[int, ...], dtype: Any) -> Any:
    """A new array on the GPU, in which the first index runs fastest."""
    if SIMULATED:
        return np.zeros(shape, dtype, order="F")
    array = cuda.device_array(shape, dtype, order="F")
    return Array(array.shape, array.strides, array.dtype, gpu_data=array.gpu_data)


def on_device(values: np.ndarray) -> Any:
    """A copy on the GPU."""
    array = room(values.shape, values.dtype)
    put(array, values)
    return array


def put(array: Any, values: np.ndarray) -> None:
    """Copy values from the host into an array."""
    if SIMULATED:
        array[...] = values
    else:
        array.copy_to_device(np.asarray(values, order="F"))


def from_others(array: Any) -> Any:
    """An array of torch, JAX, CuPy or Numba on the GPU as one of Numba's, without a copy; TypeError for others."""
    if SIMULATED:
        return np.asarray(array)
    if not hasattr(array, "__cuda_array_interface__"):
        kind = f"{type(array).__module__}.{type(array).__name__}"
        raise TypeError(f"this must be an array on the GPU, such as a tensor of torch on 'cuda', not {kind}")
    return cuda.as_cuda_array(array, sync=False)


def columns(array: Any) -> Any:
    """The same array, with a column of its own if it has one dimension alone."""
    if array.ndim != 1:
        return array
    if SIMULATED:
        return array[:, None]
    return Array((*array.shape, 1), (*array.strides, array.dtype.itemsize), array.dtype, gpu_data=array.gpu_data)


def seat(array: Any, player: int) -> Any:
    """`array[:, player]` of three dimensions. Numba's own slices of arrays whose first index runs fastest are wrong."""
    if SIMULATED:
        return array[:, player]
    (n, _, size), (first, second, third) = array.shape, array.strides
    data = array.gpu_data.view(player * second, player * second + (size - 1) * third + n * first)
    return Array((n, size), (first, third), array.dtype, gpu_data=data)
