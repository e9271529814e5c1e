# Five seeds, torch 2.13.0+cpu, 2026-11-29. Of 160 sentences:
# translated right; adjective reads adjective; with more than half; noun reads noun.
tallies = [
    (160, 160, 160, 156),
    (160, 160, 160, 160),
    (160, 160, 160, 160),
    (160, 160, 160, 160),
    (160, 160, 160, 157),
]
