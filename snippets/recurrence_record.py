# --8<-- [start: race]
# Time of the loop over that of each scan, 4,096 steps of one sequence on one core of
# an AMD EPYC, torch 2.13.0+cpu, 2026-11-29:
# the median of 5 passes, then their least and greatest.
widths = [1, 4, 16, 64, 256, 1024, 4096]
loop_over_scan = {
    "blelloch": [48.5, 41.3, 41.2, 22.4, 4.36, 1.18, 0.25],
    "blelloch least": [38.9, 40.4, 37.7, 12.9, 2.34, 0.683, 0.22],
    "blelloch greatest": [54.8, 43.8, 43.5, 24.2, 4.99, 1.36, 0.291],
    "hillis_steele": [72.5, 56.1, 26.4, 8.13, 1.17, 0.144, 0.0334],
    "hillis_steele least": [68.4, 54.1, 24.9, 7.4, 0.96, 0.14, 0.0328],
    "hillis_steele greatest": [78.2, 61, 26.7, 9, 1.33, 0.302, 0.035],
}
# --8<-- [end: race]
# --8<-- [start: agreement]
# Accuracy in percent on 512 new sentences, five seeds, at most 400 batches of 64.
one_distance = {  # trained and tested at one distance
    ("LSTM", 17): [52, 51, 50, 49, 53],
    ("diagonal SSM", 17): [100, 100, 100, 100, 100],
    ("diagonal SSM", 25): [100, 100, 100, 100, 100],
    ("diagonal SSM", 49): [100, 100, 100, 100, 100],
    ("diagonal SSM", 97): [100, 100, 99, 100, 100],
}
trained_at_49 = {  # the diagonal SSM, tested elsewhere
    45: [50, 52, 49, 52, 45],
    53: [52, 52, 47, 50, 52],
}
mixed = {  # trained at distances 1, 5, ..., 25; tested at 25 and, unseen, at 49
    "diagonal SSM": {25: [68, 66, 70, 73, 68], 49: [54, 55, 50, 50, 51]},
    "selective SSM": {25: [64, 67, 65, 71, 66], 49: [62, 56, 58, 54, 56]},
    "window, diagonal SSM": {25: [93, 80, 87, 95, 85], 49: [56, 50, 59, 63, 51]},
    "window, selective SSM": {25: [100, 100, 99, 100, 100], 49: [94, 96, 97, 97, 96]},
}
# --8<-- [end: agreement]
