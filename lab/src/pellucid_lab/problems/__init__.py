"""Problems to optimise: functions, tables, surrogates of real tuning runs, and small trainings."""
