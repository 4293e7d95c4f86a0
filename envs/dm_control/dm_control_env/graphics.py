"""Whether MuJoCo can draw here, which has to be said before dm_control is imported."""

from __future__ import annotations

import ctypes
import os
import sys

from openenv_gym_protocol.errors import ConfigurationError

INSTALL_LINE = "apt-get install libegl1 libgl1-mesa-dri libopengl0"
"""What brings EGL, OpenGL and Mesa's software for machines without a graphics card, on Debian."""

_CHOICE = "MUJOCO_GL"
_PLATFORM_DEVICE = 0x313F  # EGL_PLATFORM_DEVICE_EXT
_MOST_DEVICES = 16
_OFF = ("off", "disable", "disabled", "false", "0")


def choose_backend() -> bool:
    """Settles what MuJoCo draws with, unless ``MUJOCO_GL`` names it: EGL where it works, else nothing.

    Returns:
        Whether there can be pictures.

    Raises:
        ConfigurationError: ``MUJOCO_GL`` names EGL, which does not work here.
    """
    named = os.environ.get(_CHOICE, "").lower()
    if not named:
        os.environ[_CHOICE] = named = "egl" if _egl_works() else "off"
    elif named == "egl" and not _egl_works():
        raise ConfigurationError(f"MUJOCO_GL=egl: {without_pictures()}")
    return named not in _OFF


def without_pictures() -> str:
    """Says why there are no pictures, and what changes that."""
    return (
        f"There is nothing to draw pictures with: no EGL device works where {sys.executable} runs. On Debian: "
        f"{INSTALL_LINE}"
    )


def _egl_works() -> bool:
    """Whether a device of EGL can be initialised. A failed import would leave half of its modules behind."""
    egl = _loaded("libEGL.so.1")
    # PyOpenGL, which speaks to EGL, asks one of these for every error.
    if egl is None or not (_loaded("libOpenGL.so.0") or _loaded("libGL.so.1")):
        return False
    get = egl.eglGetProcAddress
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.c_char_p]
    query, display = get(b"eglQueryDevicesEXT"), get(b"eglGetPlatformDisplayEXT")
    if not query or not display:
        return False
    devices, count = (ctypes.c_void_p * _MOST_DEVICES)(), ctypes.c_int32()
    query_devices = ctypes.CFUNCTYPE(ctypes.c_uint, ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p)(query)
    display_of = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p)(display)
    egl.eglInitialize.restype = ctypes.c_uint
    egl.eglInitialize.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p]
    if not query_devices(_MOST_DEVICES, devices, ctypes.byref(count)):
        return False
    displays = [display_of(_PLATFORM_DEVICE, device, None) for device in devices[: count.value]]
    return any(shown and egl.eglInitialize(shown, None, None) for shown in displays)


def _loaded(library: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(library)
    except OSError:
        return None
