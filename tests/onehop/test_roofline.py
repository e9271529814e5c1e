import pytest

from onehop import roofline
from onehop.counting import product_flops
from onehop.roofline import Accelerator

ROUND = Accelerator("round figures", peak=1e12, bandwidth=1e10)


def test_the_ridge_is_peak_over_bandwidth():
    assert 100 == ROUND.ridge
    ridges = [round(chip.ridge) for chip in (roofline.A100_80GB, roofline.A100_40GB)]
    assert [153, 201] == ridges
    assert [139, 295] == [round(chip.ridge) for chip in (roofline.V100, roofline.H100)]


def test_a_product_reads_both_factors_and_writes_its_result():
    assert 2 * (3 * 5 + 5 * 7 + 3 * 7) == roofline.product_bytes(3, 5, 7)
    assert 4 * (3 * 5 + 5 * 7 + 3 * 7) == roofline.product_bytes(3, 5, 7, bytes_per_number=4)


def test_intensity_is_bd_over_d_plus_2b_for_square_weights():
    for rows in (1, 64, 32_768):
        assert rows * 512 / (512 + 2 * rows) == pytest.approx(
            roofline.intensity(rows, 512, 512), rel=1e-12
        )
    assert roofline.intensity(10**9, 512, 512) < 256


def test_below_the_ridge_the_memory_is_the_limit_and_above_it_the_peak():
    assert 1e10 * 50 == roofline.attainable_rate(ROUND, 50)
    assert 1e12 == roofline.attainable_rate(ROUND, 100)
    assert 1e12 == roofline.attainable_rate(ROUND, 5000)


@pytest.mark.parametrize("shape", [(1, 1024, 1024), (64, 512, 512), (32_768, 512, 512)])
def test_least_time_and_roof_are_two_forms_of_one_bound(shape):
    seconds = roofline.product_seconds(roofline.A100_80GB, *shape)
    roof = roofline.attainable_rate(roofline.A100_80GB, roofline.intensity(*shape))
    assert product_flops(*shape) / roof == pytest.approx(seconds, rel=1e-12)


def test_a_matrix_vector_product_uses_at_most_two_thirds_of_a_percent():
    for chip, percent in ((roofline.A100_80GB, 0.65), (roofline.A100_40GB, 0.50)):
        seconds = roofline.product_seconds(chip, 1, 1024, 1024)
        used = roofline.utilisation(chip, product_flops(1, 1024, 1024), seconds)
        assert percent == round(100 * used, 2)


def test_utilisation_is_the_share_of_the_peak_and_never_above_one():
    assert 0.5 == roofline.utilisation(ROUND, flops=1e12, seconds=2)
    for chip in (ROUND, roofline.V100, roofline.A100_80GB, roofline.H100):
        for rows in range(20_000, 20_100):  # rounding must not refuse a product at the peak
            flops = product_flops(rows, 8192, 8192)
            seconds = roofline.product_seconds(chip, rows, 8192, 8192)
            assert 1 == roofline.utilisation(chip, flops, seconds)
    with pytest.raises(ValueError, match="no utilisation is above 100%"):
        roofline.utilisation(ROUND, flops=1e12, seconds=0.99)
