"""What `import hone` offers; the names are loaded when they are first used."""
from . import space as space, trackers as trackers, triton as triton, workers as workers
from ._hone import (
    BaselineError as BaselineError,
    BusyError as BusyError,
    CanaryError as CanaryError,
    EmptyError as EmptyError,
    Error as Error,
    ExhaustedError as ExhaustedError,
    FailedError as FailedError,
    InputError as InputError,
    InterruptedError as InterruptedError,
    IOFailure as IOFailure,
    LimitError as LimitError,
    MismatchError as MismatchError,
    NotFoundError as NotFoundError,
    OutOfMemory as OutOfMemory,
    RegressedError as RegressedError,
    RejectedError as RejectedError,
    StaleError as StaleError,
    StoreError as StoreError,
    TamperedError as TamperedError,
    ToolError as ToolError,
    UnsupportedError as UnsupportedError,
    UsageError as UsageError,
    __version__ as __version__,
)
from .compilers import (
    Controls as Controls,
    check as check,
    keygen as keygen,
    minimize as minimize,
    report as report,
    tune as tune,
    validate as validate,
)
from .language import (
    Answer as Answer,
    Beam as Beam,
    Conversation as Conversation,
    LanguageModel as LanguageModel,
    Session as Session,
    Stream as Stream,
    TopToken as TopToken,
)
from .model import (
    Model as Model,
    compile as compile,
    compile_to_c as compile_to_c,
    generate as generate,
    inspect as inspect,
    load as load,
)
from .config import SearchConfiguration as SearchConfiguration
from .outcome import INVALID_SCORE as INVALID_SCORE, Outcome as Outcome
from .precision import Precision as Precision, choose_precision as choose_precision
from .results import Results as Results, Trial as Trial
from .search import Callback as Callback, Search as Search
from .ray_service import RayService as RayService, serve_ray as serve_ray
from .server import Server as Server
from .winners import (
    Winners as Winners,
    tune_model as tune_model,
)
