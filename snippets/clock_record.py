# --8<-- [start: sweep]
# Milliseconds a call on one core of an AMD EPYC, torch 2.13.0+cpu, 2026-11-29: the median
# of 5 passes, each the least of 7 rounds; then their least and greatest.
lengths = [16, 32, 64, 128, 256, 512, 1024, 2048]
milliseconds = {
    "chain": [0.0722, 0.142, 0.28, 0.561, 1.16, 2.36, 5.27, 10.9],
    "chain least": [0.0721, 0.139, 0.272, 0.554, 1.11, 2.32, 4.55, 10.7],
    "chain greatest": [0.0731, 0.143, 0.287, 0.586, 1.17, 2.42, 5.33, 11.1],
    "one product": [0.00901, 0.0125, 0.0195, 0.0332, 0.0612, 0.12, 0.236, 0.461],
    "one product least": [0.00898, 0.0122, 0.0191, 0.0326, 0.0609, 0.117, 0.232, 0.455],
    "one product greatest": [0.0091, 0.0128, 0.0219, 0.0346, 0.0634, 0.123, 0.245, 0.477],
    "attention": [0.0379, 0.0458, 0.0688, 0.132, 0.325, 1.1, 4.56, 23],
    "attention least": [0.0373, 0.0444, 0.0641, 0.128, 0.313, 1.06, 4.39, 17.9],
    "attention greatest": [0.0397, 0.0478, 0.0754, 0.141, 0.33, 2.33, 5.51, 24.1],
    "fused attention": [0.0394, 0.0476, 0.07, 0.133, 0.309, 0.939, 3.6, 13],
    "fused attention least": [0.0392, 0.0452, 0.0665, 0.128, 0.304, 0.927, 3.25, 12.8],
    "fused attention greatest": [0.0405, 0.0487, 0.073, 0.136, 0.313, 0.943, 3.69, 13.2],
    "nn.RNN": [0.0707, 0.121, 0.229, 0.435, 0.864, 1.81, 3.8, 7.95],
    "nn.RNN least": [0.0701, 0.119, 0.22, 0.423, 0.86, 1.75, 3.37, 7.88],
    "nn.RNN greatest": [0.0712, 0.127, 0.24, 0.465, 1.2, 1.86, 3.96, 8.07],
    "nn.LSTM": [0.0814, 0.0961, 0.132, 0.215, 0.326, 0.592, 1.13, 2.37],
    "nn.LSTM least": [0.0777, 0.0908, 0.124, 0.19, 0.323, 0.572, 1.08, 2.04],
    "nn.LSTM greatest": [0.0919, 0.108, 0.158, 0.226, 0.355, 0.613, 1.34, 2.55],
}
# Time of the chain over that of another way, in the same pass.
chain_over = {
    "one product": [8.01, 11.4, 14.1, 16.9, 18.7, 19.7, 21.7, 23.7],
    "one product least": [7.98, 11.2, 12.8, 16.6, 18.2, 19.1, 19.3, 23.1],
    "one product greatest": [8.14, 11.5, 14.7, 17, 18.9, 20.2, 22.7, 24],
    "attention": [1.92, 3.12, 4.17, 4.25, 3.53, 2.13, 1.16, 0.467],
    "attention least": [1.82, 2.97, 3.78, 4.17, 3.47, 1.01, 0.826, 0.458],
    "attention greatest": [1.94, 3.14, 4.26, 4.37, 3.61, 2.28, 1.2, 0.61],
}
# --8<-- [end: sweep]
# --8<-- [start: widths]
# Time of the chain over that of one product, same machine and day: the median of
# 5 passes, then their least and greatest.
widths = [32, 64, 128, 256, 512]
chain_over_one = {
    "batch 1": [23.8, 14.6, 7.81, 4.14, 3.03],
    "batch 1 least": [23.4, 14.5, 7.78, 4.13, 2.97],
    "batch 1 greatest": [24.4, 14.7, 7.86, 4.2, 3.08],
    "batch 4": [10.6, 5.91, 3.26, 2.25, 2.31],
    "batch 4 least": [10.6, 5.74, 3.23, 2.2, 2.16],
    "batch 4 greatest": [10.8, 5.97, 3.31, 2.34, 2.47],
    "batch 16": [3.97, 2.34, 1.65, 1.34, 1.33],
    "batch 16 least": [3.9, 2.31, 1.59, 1.32, 1.32],
    "batch 16 greatest": [3.98, 2.39, 1.76, 1.49, 1.37],
    "batch 64": [1.83, 1.43, 1.19, 1.12, 1.12],
    "batch 64 least": [1.79, 1.41, 1.13, 1.1, 1.1],
    "batch 64 greatest": [1.85, 1.49, 1.25, 1.13, 1.13],
}
# --8<-- [end: widths]
# --8<-- [start: training]
# Time of a training step over that of the two blocks: 5 passes, as above.
trained_at = [32, 128, 512]
trained = {
    "nn.LSTM, batch 8": [0.61, 0.462, 0.295],
    "nn.LSTM, batch 8 least": [0.552, 0.404, 0.261],
    "nn.LSTM, batch 8 greatest": [0.845, 0.671, 0.322],
    "step by step, batch 8": [4.1, 3.95, 2.38],
    "step by step, batch 8 least": [3.84, 3.83, 2.34],
    "step by step, batch 8 greatest": [4.34, 4.24, 2.5],
    "nn.LSTM, batch 1": [1.01, 0.932, 0.518],
    "nn.LSTM, batch 1 least": [0.722, 0.877, 0.467],
    "nn.LSTM, batch 1 greatest": [1.16, 1.02, 0.529],
    "step by step, batch 1": [10.8, 19.7, 14.6],
    "step by step, batch 1 least": [8.62, 19.1, 14.2],
    "step by step, batch 1 greatest": [11.2, 20.7, 14.9],
}
# --8<-- [end: training]
