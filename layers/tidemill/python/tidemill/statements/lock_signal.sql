select lock_signal(%(name)s)
