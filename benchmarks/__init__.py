"""Side-by-side measurements against peers; ``make bench`` runs them all.

Times are ratios of one run on one machine. A row says whether its target holds; a miss never fails a test.
"""
