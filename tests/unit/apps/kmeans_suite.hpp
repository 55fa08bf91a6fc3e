// k-means over many devices against plain Lloyd rounds, and against itself on other devices.
#pragma once

#include <cmath>
#include <limits>
#include <numeric>
#include <random>
#include <stop_token>

#include "kmeans/kmeans.hpp"
#include "laneway/base/interruption.hpp"
#include "unit/test_devices.hpp"

namespace laneway::test {

template <class Real>
struct point_set {
    std::vector<Real> coordinates;
    std::uint32_t dimensions;
    std::vector<double> weights = {};  ///< one a point, or none

    [[nodiscard]] std::uint64_t count() const { return coordinates.size() / dimensions; }
    [[nodiscard]] apps::point_rows<Real> rows() const {
        return {coordinates.data(), count(), dimensions, weights.empty() ? nullptr : weights.data()};
    }
    [[nodiscard]] double weight(std::size_t point) const { return weights.empty() ? 1 : weights[point]; }
    [[nodiscard]] std::vector<Real> first(std::uint32_t clusters) const {
        return {coordinates.begin(), coordinates.begin() + std::ptrdiff_t{clusters} * dimensions};
    }
};

/// Blobs of unit spread around random centres, in random order.
template <class Real>
point_set<Real> blobs(std::uint64_t seed, std::uint64_t count, std::uint32_t dimensions, std::uint32_t clusters) {
    std::mt19937_64 random(seed);
    std::uniform_real_distribution<double> place(-20, 20);
    std::normal_distribution<double> around;
    std::vector<double> centres(std::size_t{clusters} * dimensions);
    for (double& x : centres) x = place(random);
    point_set<Real> made{{}, dimensions};
    for (std::uint64_t i = 0; i < count; ++i) {
        const std::size_t centre = random() % clusters * dimensions;
        for (std::uint32_t j = 0; j < dimensions; ++j)
            made.coordinates.push_back(static_cast<Real>(centres[centre + j] + around(random)));
    }
    return made;
}

struct plain_answer {
    std::vector<std::int32_t> labels;
    std::vector<double> centers;
    std::uint32_t rounds = 0;
};

/// A sum of doubles that keeps what each addition rounds off (Neumaier, ZAMM 1974).
struct careful_sum {
    double sum = 0;
    double lost = 0;

    void add(double value) {
        const double next = sum + value;
        lost += std::abs(sum) >= std::abs(value) ? (sum - next) + value : (value - next) + sum;
        sum = next;
    }
};

/// Lloyd's rounds in double precision, one after the other, as a textbook has them.
template <class Real>
plain_answer plain_lloyd(const point_set<Real>& set, const std::vector<Real>& initial, std::uint32_t max_iter) {
    const std::size_t d = set.dimensions;
    const std::size_t clusters = initial.size() / d;
    plain_answer answer{std::vector<std::int32_t>(set.count()), {initial.begin(), initial.end()}, 0};
    for (bool moved = true;; ++answer.rounds) {
        std::vector<careful_sum> sums(clusters * d);
        std::vector<careful_sum> sizes(clusters);
        for (std::size_t i = 0; i < set.count(); ++i) {
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t c = 0; c < clusters; ++c) {
                double square = 0;
                for (std::size_t j = 0; j < d; ++j) {
                    const double apart = static_cast<double>(set.coordinates[i * d + j]) - answer.centers[c * d + j];
                    square += apart * apart;
                }
                if (square < least) {
                    least = square;
                    answer.labels[i] = static_cast<std::int32_t>(c);
                }
            }
            const auto cluster = static_cast<std::size_t>(answer.labels[i]);
            sizes[cluster].add(set.weight(i));
            for (std::size_t j = 0; j < d; ++j)
                sums[cluster * d + j].add(set.weight(i) * static_cast<double>(set.coordinates[i * d + j]));
        }
        if (!moved || answer.rounds == max_iter) return answer;
        moved = false;
        for (std::size_t x = 0; x < sums.size(); ++x) {
            if (sizes[x / d].sum == 0) continue;
            // Rounded as the program rounds, so that both come to rest in the same round.
            const double mean = static_cast<Real>((sums[x].sum + sums[x].lost) / sizes[x / d].sum);
            moved = moved || std::abs(mean - answer.centers[x]) > 1e-12;
            answer.centers[x] = mean;
        }
    }
}

inline apps::kmeans_options job_of(const std::string& devices, std::uint32_t max_iter = 300) {
    apps::kmeans_options o;
    o.job.devices = devices;
    o.max_iter = max_iter;
    o.tol = 0;
    return o;
}

template <class Real>
void meets_plain_lloyd(const point_set<Real>& set, std::uint32_t clusters, const apps::kmeans_options& o) {
    const auto expected = plain_lloyd(set, set.first(clusters), o.max_iter);
    const auto result = apps::kmeans(set.rows(), set.first(clusters), o);
    EXPECT_EQ(result.labels, expected.labels);
    EXPECT_EQ(result.n_iter, expected.rounds);
    const double allowed = sizeof(Real) == 4 ? 1e-5 : 1e-12;
    for (std::size_t i = 0; i < expected.centers.size(); ++i)
        EXPECT_NEAR(static_cast<double>(result.cluster_centers[i]), expected.centers[i], allowed);
    EXPECT_EQ(result.report.posted, result.report.direct + result.report.carried);
    EXPECT_EQ(result.report.carried, result.report.served);
}

template <class Real>
void expect_same(const apps::kmeans_result<Real>& a, const apps::kmeans_result<Real>& b) {
    EXPECT_EQ(a.labels, b.labels);
    EXPECT_EQ(a.cluster_centers, b.cluster_centers);  // to the bit
    EXPECT_EQ(a.sizes, b.sizes);
    EXPECT_EQ(a.inertia, b.inertia);
    EXPECT_EQ(a.n_iter, b.n_iter);
    EXPECT_EQ(a.start, b.start);
    EXPECT_EQ(a.converged, b.converged);
    EXPECT_EQ(a.empties, b.empties);
}

class kmeans_on : public testing::TestWithParam<std::string> {};

TEST_P(kmeans_on, blobs_of_any_shape) {
    using list = std::vector<std::uint32_t>;
    const bool few = is_checked(GetParam());  // its lanes take long
    std::uint64_t seed = 1;
    for (const std::uint32_t dimensions : few ? list{1, 3, 33} : list{1, 2, 3, 31, 33, 300}) {
        for (const std::uint32_t clusters : few ? list{1, 8, 17} : list{1, 2, 7, 8, 9, 17}) {
            SCOPED_TRACE(std::to_string(clusters) + " clusters, " + std::to_string(dimensions) + " dimensions");
            const std::uint64_t count = dimensions > 100 ? 60 : 300;
            meets_plain_lloyd(blobs<double>(seed, count, dimensions, clusters), clusters, job_of(GetParam()));
            meets_plain_lloyd(blobs<float>(seed, count, dimensions, clusters), clusters, job_of(GetParam(), 3));
            ++seed;
        }
    }
}

// Without blobs many points change in every round: some groups of a warp that join or leave a cluster are large, others
// a single point, and there are more or fewer of them than lanes, with fewer or more columns than lanes.
TEST_P(kmeans_on, many_points_change_their_cluster) {
    const std::vector<std::uint32_t> all{1, 3, 4, 31, 32, 33, 64};
    for (const std::uint32_t dimensions : is_checked(GetParam()) ? std::vector<std::uint32_t>{3, 33} : all) {
        for (const std::uint32_t clusters : {7u, 40u}) {
            SCOPED_TRACE(std::to_string(clusters) + " clusters, " + std::to_string(dimensions) + " dimensions");
            point_set<double> set{{}, dimensions};
            std::mt19937_64 random(dimensions + clusters);
            std::uniform_real_distribution<double> place(-1, 1);
            // The first points, where centroids start, lie close together.
            for (std::uint32_t i = 0; i < 333 * dimensions; ++i)
                set.coordinates.push_back(place(random) * (i < clusters * dimensions ? 0.1 : 1));
            const auto once = plain_lloyd(set, set.first(clusters), 1),
                       twice = plain_lloyd(set, set.first(clusters), 2);
            std::uint64_t changes = 0;
            for (std::size_t i = 0; i < set.count(); ++i) changes += once.labels[i] != twice.labels[i] ? 1 : 0;
            ASSERT_GT(changes, 10u);
            meets_plain_lloyd(set, clusters, job_of(GetParam(), 3));
            expect_same(apps::kmeans(set.rows(), set.first(clusters), job_of(GetParam(), 3)),
                        apps::kmeans(set.rows(), set.first(clusters), job_of("cpu:1", 3)));
        }
    }
}

TEST_P(kmeans_on, any_interleaving) {
    const auto set = blobs<float>(3, 40, 2, 3);
    const auto expected = apps::kmeans(set.rows(), set.first(4), job_of("cpu:1"));
    const std::uint64_t rounds = rounds_of(GetParam());
    for (std::uint64_t round = 0; round < rounds; round += is_checked(GetParam()) ? 10 : 1) {
        auto o = job_of(GetParam());
        o.job = options_of(GetParam(), round);
        o.job.timeout_seconds = 60;
        SCOPED_TRACE("seed " + std::to_string(o.job.seed));
        expect_same(apps::kmeans(set.rows(), set.first(4), o), expected);
        if (testing::Test::HasFailure()) return;
    }
}

TEST_P(kmeans_on, the_same_to_the_bit_as_on_one_cpu) {
    const std::size_t share = is_checked(GetParam()) ? 20 : 1;  // steps of checked lanes take long
    const auto set = blobs<float>(11, 20'000 / share, 5, 6);
    expect_same(apps::kmeans(set.rows(), set.first(12), job_of(GetParam(), 12)),
                apps::kmeans(set.rows(), set.first(12), job_of("cpu:1", 12)));
    const auto wide = blobs<double>(12, 3'000 / share, 40, 30);
    expect_same(apps::kmeans(wide.rows(), wide.first(30), job_of(GetParam(), 5)),
                apps::kmeans(wide.rows(), wide.first(30), job_of("cpu:1", 5)));
}

TEST_P(kmeans_on, empty_clusters_keep_their_centroids) {
    const point_set<double> set{{0, 0, 1, 0, 0, 1, 9, 9}, 2};
    const auto result = apps::kmeans(set.rows(), {500, 500, 0, 0, 9, 8, -500, 0}, job_of(GetParam()));
    EXPECT_EQ(result.labels, (std::vector<std::int32_t>{1, 1, 1, 2}));
    EXPECT_EQ(result.sizes, (std::vector<std::uint64_t>{0, 3, 1, 0}));
    EXPECT_EQ((std::vector<double>{result.cluster_centers.begin(), result.cluster_centers.begin() + 2}),
              (std::vector<double>{500, 500}));
    EXPECT_NEAR(result.cluster_centers[2], 1.0 / 3, 1e-15);
    EXPECT_EQ(result.cluster_centers[4], 9);
    EXPECT_EQ(result.cluster_centers[6], -500);
    EXPECT_TRUE(result.converged);
    EXPECT_EQ(result.n_iter, 2u);
    EXPECT_EQ(result.empties, 4u);
    EXPECT_NEAR(result.inertia, 4.0 / 3, 1e-12);
}

TEST_P(kmeans_on, a_cluster_may_lose_all_points_and_win_some) {
    // Cluster 1 starts with the point 10 alone, loses it to cluster 2 and gets it back never; cluster 0 gathers.
    const point_set<double> set{{0, 1, 2, 10, 11, 12, 30}, 1};
    for (const std::uint32_t rounds : {1u, 2u, 3u, 9u}) meets_plain_lloyd(set, 3, job_of(GetParam(), rounds));
}

TEST_P(kmeans_on, duplicates_and_ties_go_to_the_lower_cluster) {
    const point_set<float> same{std::vector<float>(2 * 100, 3.25f), 2};
    const auto one = apps::kmeans(same.rows(), same.first(3), job_of(GetParam()));
    EXPECT_EQ(one.labels, std::vector<std::int32_t>(100, 0));
    EXPECT_EQ(one.cluster_centers, std::vector<float>(6, 3.25f));
    EXPECT_EQ(one.inertia, 0);
    const point_set<float> line{{0, 2, 1}, 1};
    EXPECT_EQ(apps::kmeans(line.rows(), {0, 2}, job_of(GetParam(), 1)).labels, (std::vector<std::int32_t>{0, 1, 0}));
}

TEST_P(kmeans_on, fewer_points_than_devices) {
    const point_set<double> set{{4, 5}, 2};
    const auto result = apps::kmeans(set.rows(), {1, 1}, job_of(GetParam()));
    EXPECT_EQ(result.labels, std::vector<std::int32_t>{0});
    EXPECT_EQ(result.cluster_centers, (std::vector<double>{4, 5}));
}

TEST_P(kmeans_on, columns_of_different_size) {
    // Every column as exact as its own range allows: a common scale would drown the first or overflow with the last.
    point_set<double> set{{}, 3};
    for (int i = 0; i < 1000; ++i) {
        const double x = i % 10;
        set.coordinates.insert(set.coordinates.end(), {x * 1e-100, 1e9 + x * 1e-3, (i / 500) * 1e100});
    }
    const std::vector<double> initial{0, 1e9, 0, 0, 1e9, 1e100};
    const auto result = apps::kmeans(set.rows(), initial, job_of(GetParam()));
    for (const int row : {0, 3}) {
        EXPECT_NEAR(result.cluster_centers[static_cast<std::size_t>(row)], 4.5e-100, 1e-112);
        EXPECT_NEAR(result.cluster_centers[static_cast<std::size_t>(row + 1)], 1e9 + 4.5e-3, 2e-7);
    }
    EXPECT_NEAR(result.cluster_centers[2], 0, 1e85);
    EXPECT_NEAR(result.cluster_centers[5], 1e100, 1e85);
    EXPECT_EQ(result.sizes, (std::vector<std::uint64_t>{500, 500}));
}

/// Mean over the columns of their variances.
inline double variance_of(const point_set<double>& set) {
    const double all = set.weights.empty() ? static_cast<double>(set.count())
                                           : std::accumulate(set.weights.begin(), set.weights.end(), 0.0);
    double total = 0;
    for (std::size_t j = 0; j < set.dimensions; ++j) {
        double sum = 0, squares = 0;
        for (std::size_t i = 0; i < set.count(); ++i) {
            const double x = set.coordinates[i * set.dimensions + j];
            sum += set.weight(i) * x;
            squares += set.weight(i) * x * x;
        }
        total += squares / all - sum / all * (sum / all);
    }
    return total / set.dimensions;
}

TEST_P(kmeans_on, tolerance_and_most_rounds) {
    for (const bool weighted : {false, true}) {
        auto set = blobs<double>(5, 500, 2, 9);
        for (std::size_t i = 0; weighted && i < set.count(); ++i) set.weights.push_back(i < 300 ? 0.5 : 3);
        const auto all = apps::kmeans(set.rows(), set.first(9), job_of(GetParam()));
        ASSERT_GT(all.n_iter, 3u);
        EXPECT_TRUE(all.converged);
        const auto one = apps::kmeans(set.rows(), set.first(9), job_of(GetParam(), 1));
        const auto two = apps::kmeans(set.rows(), set.first(9), job_of(GetParam(), 2));
        EXPECT_EQ(two.n_iter, 2u);
        EXPECT_FALSE(two.converged);
        double last_shift = 0;  // of the second round
        for (std::size_t i = 0; i < one.cluster_centers.size(); ++i) {
            const double apart = two.cluster_centers[i] - one.cluster_centers[i];
            last_shift += apart * apart;
        }
        auto o = job_of(GetParam());
        o.tol = last_shift / variance_of(set) * 1.001;
        const auto coarse = apps::kmeans(set.rows(), set.first(9), o);
        EXPECT_EQ(coarse.n_iter, 2u);
        EXPECT_TRUE(coarse.converged);
        EXPECT_EQ(coarse.labels, two.labels);
        o.tol = last_shift / variance_of(set) * 0.999;
        EXPECT_GT(apps::kmeans(set.rows(), set.first(9), o).n_iter, 2u);
    }
}

TEST_P(kmeans_on, points_count_as_much_as_they_weigh) {
    for (const std::uint32_t dimensions : {1u, 3u, 33u}) {
        SCOPED_TRACE(std::to_string(dimensions) + " dimensions");
        auto set = blobs<double>(dimensions, 333, dimensions, 5);
        std::mt19937_64 random(dimensions);
        for (std::size_t i = 0; i < set.count(); ++i)
            set.weights.push_back(random() % 4 == 0 ? 0 : std::ldexp(static_cast<double>(random() % 1000), -5));
        meets_plain_lloyd(set, 7, job_of(GetParam(), 6));
        expect_same(apps::kmeans(set.rows(), set.first(7), job_of(GetParam(), 6)),
                    apps::kmeans(set.rows(), set.first(7), job_of("cpu:1", 6)));
    }
}

// Weights of 1 and of any other power of two change no bit but of the inertia, and whole ones are repetitions.
TEST_P(kmeans_on, weights_that_are_as_none_and_as_repetitions) {
    auto set = blobs<float>(21, 700, 5, 6);
    const auto plain = apps::kmeans(set.rows(), set.first(6), job_of(GetParam(), 9));
    for (const double weight : {1.0, 0x1p-1060, 0x1p1020}) {
        set.weights.assign(set.count(), weight);
        const auto weighted = apps::kmeans(set.rows(), set.first(6), job_of(GetParam(), 9));
        EXPECT_EQ(weighted.labels, plain.labels);
        EXPECT_EQ(weighted.cluster_centers, plain.cluster_centers);
        EXPECT_EQ(weighted.n_iter, plain.n_iter);
    }
    auto wide = blobs<double>(22, 300, 3, 4);
    point_set<double> repeated{{}, 3};
    for (std::size_t i = 0; i < wide.count(); ++i) {
        wide.weights.push_back(static_cast<double>(i < 4 ? 1 : i % 5));
        for (double times = 0; times < wide.weights.back(); ++times)
            for (std::size_t j = 0; j < 3; ++j) repeated.coordinates.push_back(wide.coordinates[i * 3 + j]);
    }
    const auto weighted = apps::kmeans(wide.rows(), wide.first(4), job_of(GetParam()));
    const auto expected = apps::kmeans(repeated.rows(), wide.first(4), job_of(GetParam()));
    for (std::size_t i = 0; i < expected.cluster_centers.size(); ++i)
        EXPECT_NEAR(weighted.cluster_centers[i], expected.cluster_centers[i], 1e-14);
    EXPECT_EQ(weighted.n_iter, expected.n_iter);
    EXPECT_NEAR(weighted.inertia, expected.inertia, 1e-9 * expected.inertia);
}

TEST_P(kmeans_on, points_without_weight_are_labelled_and_count_nowhere) {
    point_set<double> set{{0, 2, 10, 100, 200}, 1, {1, 3, 5, 0, 0}};
    const auto result = apps::kmeans(set.rows(), {0, 9, 150}, job_of(GetParam()));
    EXPECT_EQ(result.labels, (std::vector<std::int32_t>{0, 0, 1, 2, 2}));
    EXPECT_EQ(result.cluster_centers, (std::vector<double>{1.5, 10, 150}));
    EXPECT_EQ(result.sizes, (std::vector<std::uint64_t>{2, 1, 2}));
    EXPECT_EQ(result.empties, result.n_iter);
    EXPECT_DOUBLE_EQ(result.inertia, 1 * 2.25 + 3 * 0.25);
}

TEST_P(kmeans_on, the_best_of_several_starts) {
    const point_set<double> set{{0, 1, 10, 11, 20, 21}, 1};
    auto o = job_of(GetParam());
    o.n_init = 3;
    // The first and the last two starts stay where two blobs share a center; the second and third find the blobs.
    const auto best = apps::kmeans(set.rows(), {0, 1, 15, 0, 10, 20, 21, 11, 1}, o);
    EXPECT_EQ(best.start, 1u);  // the first of equals
    EXPECT_EQ(best.cluster_centers, (std::vector<double>{0.5, 10.5, 20.5}));
    EXPECT_EQ(best.labels, (std::vector<std::int32_t>{0, 0, 1, 1, 2, 2}));
    EXPECT_DOUBLE_EQ(best.inertia, 1.5);
    EXPECT_EQ(best.empties, 0u);
    // Nothing is left over from the runs before.
    auto last = apps::kmeans(set.rows(), {0, 1, 15, 15, 1, 0, 0, 10, 20}, o);
    EXPECT_EQ(last.start, 2u);
    last.start = 0;
    expect_same(last, apps::kmeans(set.rows(), {0, 10, 20}, job_of(GetParam())));
}

TEST_P(kmeans_on, no_rounds_label_points_only) {
    const point_set<float> set{{1, 8}, 1};
    const auto result = apps::kmeans(set.rows(), {0, 7, 9, 30}, job_of(GetParam(), 0));  // more centers than points
    EXPECT_EQ(result.labels, (std::vector<std::int32_t>{0, 1}));
    EXPECT_EQ(result.cluster_centers, (std::vector<float>{0, 7, 9, 30}));
    EXPECT_EQ(result.inertia, 2);
    EXPECT_EQ(result.n_iter, 0u);
}

TEST_P(kmeans_on, messages_follow_changes_and_not_points) {
    if (parse_devices(GetParam()).size() < 2) return;  // one PE carries nothing
    const auto set = blobs<float>(2, 5'000, 2, 4);
    const auto result = apps::kmeans(set.rows(), set.first(4), job_of(GetParam(), 1));
    EXPECT_GT(result.report.carried, 0u);
    EXPECT_LT(result.report.posted, 3'000u);
}

template <class Real>
std::string refusal(const point_set<Real>& set, const std::vector<Real>& initial, double tol = 0) {
    auto o = job_of("cpu:1");
    o.tol = tol;
    try {
        (void)apps::kmeans(set.rows(), initial, o);
    } catch (const usage_error& e) {
        return e.what();
    }
    return "none";
}

TEST(kmeans, bad_input_is_named) {
    const float infinite = std::numeric_limits<float>::infinity();
    const point_set<float> three{{0, 1, 2}, 1};
    EXPECT_NE(refusal(three, {0, 1, 2, 3}).find("n_clusters = 4 is more than there are points: n_samples = 3"),
              std::string::npos);
    EXPECT_NE(refusal(three, {}).find("at least 1"), std::string::npos);
    EXPECT_NE(refusal(point_set<float>{{}, 2}, {0, 1}).find("there are none"), std::string::npos);
    EXPECT_NE(refusal(point_set<float>{{0, 1, 2, 3}, 2}, {0}).find("no rows of 2"), std::string::npos);
    EXPECT_EQ(refusal(point_set<float>{{0, 1, 2, std::nanf("")}, 2}, {0, 1}),
              "points: row 2, column 2 is not a number");
    EXPECT_EQ(refusal(point_set<float>{{0, 1, -infinite, 2}, 2}, {0, 1}), "points: row 2, column 1 is infinite");
    EXPECT_EQ(refusal(three, {infinite}), "centers: row 1, column 1 is infinite");
    EXPECT_NE(refusal(point_set<float>{{0, 0, 1e20f, 0}, 2}, {0, 0}).find("column 1 spans"), std::string::npos);
    EXPECT_NE(refusal(three, {0}, -1).find("tol"), std::string::npos);
    EXPECT_NE(refusal(three, {0}, std::nan("")).find("tol"), std::string::npos);
    const auto weighted = [](std::vector<double> weights) {
        return refusal(point_set<float>{{0, 1, 2}, 1, std::move(weights)}, {0});
    };
    EXPECT_NE(weighted({1, -1, 1}).find("sample_weight of point 2 is -1"), std::string::npos);
    EXPECT_NE(weighted({1, 1, std::nan("")}).find("point 3"), std::string::npos);
    EXPECT_NE(weighted({HUGE_VAL, 1, 1}).find("point 1"), std::string::npos);
    EXPECT_EQ(weighted({0, 0, 0}), "sample_weight is zero for all points");
}

/// A call that is to be left does not look at all points first.
TEST(kmeans_setup, is_left_before_the_last_point_is_seen) {
    std::vector<double> points(100'000, 1.0);
    points.back() = std::numeric_limits<double>::quiet_NaN();
    const std::vector<double> centers(10, 0.0);
    const apps::point_rows<double> rows{points.data(), 10'000, 10};
    apps::kmeans_options options;
    options.job.devices = "cpu:1";
    EXPECT_THROW((void)apps::kmeans(rows, centers, options), usage_error);
    std::stop_source stop;
    stop.request_stop();
    const interruption leave(stop.get_token());
    EXPECT_THROW((void)apps::kmeans(rows, centers, options), interrupted);
}

TEST_P(kmeans_on, a_deadline_ends_the_run) {
    if (GetParam().starts_with("checked")) return;  // its time is virtual
    const auto set = blobs<double>(1, 20'000, 20, 20);
    auto o = job_of(GetParam(), 1'000'000);
    o.job.timeout_seconds = 1e-4;
    EXPECT_THROW((void)apps::kmeans(set.rows(), set.first(20), o), timeout_error);
}

LANEWAY_ON_DEVICES(kmeans_on, program_lists());

}  // namespace laneway::test
