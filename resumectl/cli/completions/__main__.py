"""python -m resumectl.cli.completions DIRECTORY"""

import sys
from pathlib import Path

from . import write

if __name__ == "__main__":
    write(Path(sys.argv[1]))
