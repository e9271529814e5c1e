# --8<-- [start: sweep]
# Milliseconds a call on one core of an AMD EPYC, torch 2.13.0+cpu, 2026-11-29:
# the median of 5 passes, each the least of 7 rounds.
lengths = [16, 32, 64, 128, 256, 512, 1024, 2048]
milliseconds = {
    "chain": [0.0745, 0.143, 0.282, 0.57, 1.14, 2.48, 5.34, 11],
    "chain least": [0.0738, 0.142, 0.278, 0.567, 1.13, 2.38, 5.23, 10.9],
    "chain greatest": [0.112, 0.214, 0.289, 0.582, 1.2, 2.67, 5.45, 11.3],
    "one product": [0.00914, 0.0122, 0.0194, 0.0339, 0.0619, 0.117, 0.234, 0.471],
    "one product least": [0.0091, 0.0121, 0.0191, 0.0329, 0.0607, 0.115, 0.229, 0.46],
    "one product greatest": [0.00988, 0.0133, 0.0198, 0.0344, 0.0628, 0.118, 0.239, 0.475],
    "attention": [0.0376, 0.045, 0.0662, 0.136, 0.334, 1.07, 4.33, 25.9],
    "attention least": [0.0366, 0.044, 0.0639, 0.127, 0.32, 1.05, 4.28, 17.6],
    "attention greatest": [0.0569, 0.0691, 0.0672, 0.145, 0.358, 1.75, 6.03, 32.6],
    "fused attention": [0.0391, 0.0462, 0.0678, 0.131, 0.313, 0.942, 3.47, 12.9],
    "fused attention least": [0.0386, 0.0455, 0.0661, 0.127, 0.305, 0.93, 3.27, 12.7],
    "fused attention greatest": [0.0592, 0.0697, 0.0693, 0.135, 0.32, 0.967, 3.59, 12.9],
    "nn.RNN": [0.07, 0.121, 0.227, 0.429, 0.856, 1.77, 3.75, 7.66],
    "nn.RNN least": [0.0691, 0.12, 0.221, 0.422, 0.855, 1.66, 3.69, 7.43],
    "nn.RNN greatest": [0.118, 0.192, 0.231, 0.442, 0.873, 1.85, 3.78, 7.84],
    "nn.LSTM": [0.0797, 0.0951, 0.127, 0.2, 0.33, 0.575, 1.11, 2.55],
    "nn.LSTM least": [0.0771, 0.0917, 0.125, 0.195, 0.313, 0.55, 1.03, 2.31],
    "nn.LSTM greatest": [0.126, 0.152, 0.133, 0.21, 0.335, 0.578, 1.11, 2.62],
}
# Time of the chain over that of another way, in the same pass.
chain_over = {
    "one product": [8.18, 11.7, 14.6, 16.9, 18.6, 21.5, 22.6, 23.8],
    "one product least": [8, 11.6, 14.3, 16.7, 18.2, 20.4, 22.3, 23],
    "one product greatest": [11.4, 16.2, 14.7, 17.2, 19, 22.7, 23.8, 24.1],
    "attention": [2, 3.2, 4.27, 4.16, 3.41, 2.31, 1.21, 0.429],
    "attention least": [1.96, 3.1, 4.19, 3.93, 3.15, 1.39, 0.877, 0.347],
    "attention greatest": [2.02, 3.23, 4.41, 4.49, 3.58, 2.52, 1.27, 0.619],
}
# --8<-- [end: sweep]
# --8<-- [start: widths]
# Time of the chain over that of one product, same machine and day: the median of
# 5 passes, then their least and greatest.
widths = [32, 64, 128, 256, 512]
chain_over_one = {
    "batch 1": [24.2, 14.7, 7.87, 4.19, 3.09],
    "batch 1 least": [23.6, 14.7, 7.81, 4.14, 2.95],
    "batch 1 greatest": [24.2, 14.9, 7.92, 4.23, 4.02],
    "batch 4": [10.7, 5.9, 3.29, 2.25, 2.27],
    "batch 4 least": [10.6, 5.85, 3.24, 2.16, 2.25],
    "batch 4 greatest": [10.8, 5.91, 3.3, 2.3, 2.39],
    "batch 16": [4, 2.34, 1.61, 1.35, 1.33],
    "batch 16 least": [4, 2.3, 1.61, 1.34, 1.3],
    "batch 16 greatest": [4.02, 2.37, 1.67, 1.45, 1.35],
    "batch 64": [1.82, 1.52, 1.18, 1.1, 1.13],
    "batch 64 least": [1.81, 1.47, 1.13, 1.09, 1.12],
    "batch 64 greatest": [1.83, 1.52, 1.24, 1.1, 1.14],
}
# --8<-- [end: widths]
# --8<-- [start: training]
# Time of a training step over that of the two blocks: 5 passes, as above.
trained_at = [32, 128, 512]
trained = {
    "nn.LSTM": [0.644, 0.467, 0.337],
    "nn.LSTM least": [0.547, 0.45, 0.244],
    "nn.LSTM greatest": [0.717, 0.49, 0.373],
    "step by step": [3.82, 3.99, 2.34],
    "step by step least": [3.76, 3.94, 2.3],
    "step by step greatest": [4.17, 4.01, 2.47],
}
# --8<-- [end: training]
