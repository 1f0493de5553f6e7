"""Shows libraries around TensorFlow as they were around 2018, to the user's modules only.

A face is only a table entry until a program imports the library. The import of a library that is
not installed fails as usual.
"""

from __future__ import annotations

from moxing.legacy.face.faces import Spec
from moxing.legacy.libraries import (
    data_files,
    librosa_face,
    matplotlib_face,
    numpy_face,
    pandas_face,
    pillow_face,
    scipy_face,
    sklearn_face,
    standard,
)
from moxing.legacy.libraries.gensim import face as gensim_face
from moxing.legacy.libraries.gym import face as gym_face
from moxing.legacy.libraries.networkx import face as networkx_face
from moxing.legacy.libraries.nltk import face as nltk_face
from moxing.legacy.libraries.skimage import face as skimage_face

# Module -> the package to install.
PACKAGES = {
    "attr": "attrs",
    "bs4": "beautifulsoup4",
    "cloudpickle": "cloudpickle",
    "cv2": "opencv-python-headless",
    "dateutil": "python-dateutil",
    "dill": "dill",
    "docopt": "docopt",
    "dopamine": "dopamine-rl",
    "easydict": "easydict",
    "editdistance": "editdistance",
    "fire": "fire",
    "ftfy": "ftfy",
    "funcsigs": "funcsigs",
    "gensim": "gensim",
    "gin": "gin-config",
    "git": "gitpython",
    "graph_nets": "graph-nets==1.1.0",
    "h5py": "h5py",
    "Image": "pillow",
    "imageio": "imageio",
    "inflect": "inflect",
    "ipdb": "ipdb",
    "jieba": "jieba",
    "jsonlines": "jsonlines",
    "Levenshtein": "levenshtein",
    "librosa": "librosa",
    "lightgbm": "lightgbm",
    "lmdb": "lmdb",
    "lxml": "lxml",
    "matplotlib": "matplotlib",
    "mesh_tensorflow": "mesh-tensorflow",
    "mido": "mido",
    "mir_eval": "mir-eval",
    "moviepy": "moviepy",
    "mpi4py": "mpi4py",
    "networkx": "networkx",
    "nltk": "nltk",
    "numba": "numba",
    "pandas": "pandas",
    "past": "future",
    "PIL": "pillow",
    "pretty_midi": "pretty-midi",
    "progressbar": "progressbar2",
    "psutil": "psutil",
    "pyaudio": "pyaudio",
    "pydub": "pydub",
    "pygame": "pygame",
    "pyhocon": "pyhocon",
    "pypinyin": "pypinyin",
    "python_speech_features": "python_speech_features",
    "rdkit": "rdkit",
    "regex": "regex",
    "requests": "requests",
    "resampy": "resampy",
    "ruamel": "ruamel.yaml",
    "sacred": "sacred",
    "scipy": "scipy",
    "seaborn": "seaborn",
    "sentencepiece": "sentencepiece",
    "skimage": "scikit-image",
    "sklearn": "scikit-learn",
    "sonnet": "dm-sonnet==1.36",
    "sounddevice": "sounddevice",
    "soundfile": "soundfile",
    "sox": "sox",
    "spacy": "spacy",
    "statsmodels": "statsmodels",
    "tabulate": "tabulate",
    "tensor2tensor": "tensor2tensor",
    "tensorboard": "tensorboard",
    "tensorboardX": "tensorboardX",
    "tensorflow_datasets": "tensorflow-datasets",
    "tensorflow_gan": "tensorflow-gan",
    "tensorflow_hub": "tensorflow-hub",
    "tensorflow_probability": "tensorflow-probability",
    "termcolor": "termcolor",
    "toml": "toml",
    "toposort": "toposort",
    "torch": "torch",
    "tqdm": "tqdm",
    "tree": "dm-tree",
    "trfl": "trfl",
    "ujson": "ujson",
    "unidecode": "unidecode",
    "xgboost": "xgboost",
    "yaml": "pyyaml",
}

# Module -> what to use in place of a package that does not run with today's libraries.
SUCCESSORS = {
    "gym": "gym's last release does not run with NumPy 2. Install its successor, gymnasium, which"
    " openmox shows as the gym of 2016-2021 to the program: pip install gymnasium",
    "sonnet": "Programs of TensorFlow 1.x need Sonnet 1, which runs here without the versions that"
    " it asks for: pip install --no-deps 'dm-sonnet<2' contextlib2 semantic_version",
}


def specs() -> dict[str, Spec]:
    """Returns the faces of libraries for the user's modules, by the imported name."""
    return {
        **standard.specs(),
        **gym_face.specs(),
        "PIL": pillow_face.spec(),
        "gensim": gensim_face.spec(),
        "h5py": data_files.h5py_spec(),
        "librosa": librosa_face.spec(),
        "matplotlib": matplotlib_face.spec(),
        "networkx": networkx_face.spec(),
        "nltk": nltk_face.spec(),
        "numpy": numpy_face.spec(),
        "pandas": pandas_face.spec(),
        "pylab": matplotlib_face.pylab_spec(),
        "ruamel": data_files.ruamel_spec(),
        "scipy": scipy_face.spec(),
        "skimage": skimage_face.spec(),
        "sklearn": sklearn_face.spec(),
        "yaml": data_files.yaml_spec(),
    }
