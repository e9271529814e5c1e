# --8<-- [start: sweep]
# Milliseconds a call on one core of an AMD EPYC, torch 2.13.0+cpu, 2026-11-29:
# the median of 5 passes, each the least of 7 rounds.
lengths = [16, 32, 64, 128, 256, 512, 1024, 2048]
milliseconds = {
    "chain": [0.0711, 0.14, 0.276, 0.556, 1.11, 2.36, 4.99, 10.4],
    "one product": [0.00866, 0.0123, 0.019, 0.0327, 0.0601, 0.115, 0.228, 0.46],
    "attention": [0.0364, 0.044, 0.0649, 0.131, 0.326, 1.03, 4.35, 17.4],
    "fused attention": [0.0382, 0.046, 0.0666, 0.128, 0.305, 0.915, 3.3, 12.7],
    "nn.RNN": [0.0694, 0.119, 0.227, 0.43, 0.836, 1.77, 3.76, 7.58],
    "nn.LSTM": [0.0785, 0.0934, 0.132, 0.199, 0.322, 0.552, 1.05, 2.29],
}
# Time of the chain over that of another way: least and greatest pass.
spread = {
    "one product": {64: (14.3, 14.8), 256: (18.4, 19), 1024: (19.8, 22.6)},
    "attention": {64: (4.15, 4.33), 256: (3.29, 3.45), 1024: (0.797, 1.23)},
}
# --8<-- [end: sweep]
# --8<-- [start: widths]
# Time of the chain over that of one product: medians, same machine and day.
widths = [32, 64, 128, 256, 512]
chain_over_one = {  # by batch
    1: [24, 14.6, 7.79, 4.14, 2.88],
    4: [10.6, 5.81, 3.2, 2.24, 2.14],
    16: [3.92, 2.33, 1.61, 1.33, 1.28],
    64: [1.8, 1.41, 1.2, 1.08, 1.08],
}
# --8<-- [end: widths]
# --8<-- [start: training]
# Time of a training step over that of the two blocks: least and greatest pass.
trained = {
    "nn.LSTM": {32: (0.566, 0.7), 128: (0.399, 0.446), 512: (0.233, 0.325)},
    "step by step": {32: (3.62, 5.11), 128: (3.77, 3.92), 512: (2.24, 2.3)},
}
# --8<-- [end: training]
