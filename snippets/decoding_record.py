# Microseconds a token on one core of an AMD EPYC, torch 2.13.0+cpu, 2026-11-29:
# the median of 5 passes, then their least and greatest.
positions = [16, 64, 256, 1024, 4096, 16384, 65536]
microseconds = {
    "attention": [39.5, 39.7, 42.1, 50, 80.9, 206, 2150],
    "attention least": [39.1, 39.4, 41.1, 49.4, 80.3, 196, 2010],
    "attention greatest": [40.6, 40.3, 42.8, 51.5, 82.8, 243, 2450],
    "GRU": [14.4, 14.4, 14.4, 14.5, 14.6, 14.4, 14.3],
    "GRU least": [14.1, 14.3, 14.4, 14.5, 14.4, 14.4, 13.8],
    "GRU greatest": [14.6, 14.5, 14.5, 14.5, 14.6, 14.5, 14.6],
}
