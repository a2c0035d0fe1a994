"""Workers: where objectives run. See base.py for their contract."""
