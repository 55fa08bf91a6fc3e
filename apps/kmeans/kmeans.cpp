#include "kmeans.hpp"

#include "lloyd.hpp"

namespace laneway::apps {

namespace {

constexpr std::uint64_t copies_bytes = 1 << 20;  ///< of a PE's sums, all copies together, where one is smaller
constexpr std::uint64_t max_copies = 64;         ///< spreads the lanes of a GPU well enough

template <class Real>
void require_sound(const point_rows<Real>& points, const std::vector<Real>& initial, const kmeans_options& options) {
    if (points.count == 0 || points.dimensions == 0) throw usage_error("points: there are none");
    if (options.n_init == 0) throw usage_error("n_init must be at least 1");
    if (initial.size() % (std::uint64_t{points.dimensions} * options.n_init) != 0) {
        throw usage_error("centers: " + std::to_string(initial.size()) + " coordinates are no rows of " +
                          std::to_string(points.dimensions) + " in " + std::to_string(options.n_init) +
                          " sets of the same size");
    }
    const std::uint64_t clusters = initial.size() / points.dimensions / options.n_init;
    if (clusters == 0) throw usage_error("n_clusters must be at least 1");
    if (clusters > points.count && options.max_iter > 0) {
        throw usage_error("n_clusters = " + std::to_string(clusters) +
                          " is more than there are points: n_samples = " + std::to_string(points.count));
    }
    if (clusters > (1u << 30) / (std::uint64_t{points.dimensions} + 1)) {
        throw usage_error(std::to_string(clusters) + " clusters of " + std::to_string(points.dimensions) +
                          " dimensions have more than 2^30 sums");
    }
    if (!(options.tol >= 0)) throw usage_error("tol must be 0 or more");
    require_finite("points", points.coordinates, points.count, points.dimensions);
    require_finite("centers", initial.data(), initial.size() / points.dimensions, points.dimensions);
    require_squares(points, initial);
    require_weights(points);
}

template <class Real, bool Weighted>
class kmeans_job {
public:
    kmeans_job(runtime& runtime, const point_rows<Real>& points, const std::vector<Real>& initial,
               const kmeans_options& options)
        : given_(points), initial_(initial), options_(options), runtime_(runtime), layout_(lay_out()),
          points_(runtime_.allocate<Real>(layout_.point_places())),
          weights_(runtime_.allocate<double>(Weighted ? layout_.points_a_pe : 1)),
          labels_(runtime_.allocate<std::uint32_t>(layout_.points_a_pe)),
          centroids_(runtime_.allocate<centroid_group<Real>>(layout_.centroid_groups())),
          columns_(runtime_.allocate<fixed_column>(layout_.dimensions)),
          partial_(runtime_.allocate<std::uint64_t>(std::uint64_t{layout_.copies} * layout_.sum_words())),
          sums_(runtime_.allocate<std::uint64_t>(layout_.sum_words())),
          progress_(runtime_.allocate<kmeans_progress>(1)) {
        const std::vector<fixed_column> columns = fix_columns(points);
        const std::vector<double> weights = scale_weights(points);
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            points_.copy_in(pe, points_of(pe));
            if (Weighted) weights_.copy_in(pe, weights_of(pe, weights));
            columns_.copy_in(pe, columns);
        }
    }

    /// The best of the runs from all sets of centers; the first of equals.
    kmeans_result<Real> run() {
        const double limit = options_.tol > 0 ? options_.tol * mean_variance(given_) : 0;
        const double shift_scale = limit > 0 ? shift_unit / limit : 0;
        const lloyd_rounds<Real, Weighted> rounds{layout_,          points_.ref(),     weights_.ref(), labels_.ref(),
                                                  centroids_.ref(), columns_.ref(),    partial_.ref(), sums_.ref(),
                                                  progress_.ref(),  options_.max_iter, limit > 0};
        const auto box = runtime_.mailbox<sum_change, centroid_move<Real>>(
            add_change{sums_.ref()}, move_centroid<Real>{centroids_.ref(), progress_.ref(), shift_scale});
        kmeans_result<Real> best;
        for (std::uint32_t start = 0; start < options_.n_init; ++start) {
            begin(start);
            kmeans_result<Real> result;
            result.report = runtime_.run(rounds, box);
            result.start = start;
            collect(result);
            if (start == 0 || result.inertia < best.inertia) best = std::move(result);
        }
        return best;
    }

private:
    kmeans_layout lay_out() const {
        const auto pes = static_cast<std::uint64_t>(runtime_.n_pes());
        const auto clusters = static_cast<std::uint32_t>(initial_.size() / given_.dimensions / options_.n_init);
        kmeans_layout made{given_.count, (given_.count + pes - 1) / pes, clusters, given_.dimensions, 1};
        const std::uint64_t fitting = copies_bytes / (std::uint64_t{made.sum_words()} * sizeof(std::uint64_t));
        made.copies = static_cast<std::uint32_t>(std::clamp<std::uint64_t>(fitting, 1, max_copies));
        return made;
    }

    /// All as it is before a run from a set of centers.
    void begin(std::uint32_t start) {
        const Real* const centers = initial_.data() + std::size_t{start} * layout_.clusters * layout_.dimensions;
        std::vector<centroid_group<Real>> placed(layout_.centroid_groups());
        for_each_centroid([&](std::size_t i, std::uint64_t place) { centroid_at(placed.data(), place) = centers[i]; });
        const std::vector<std::uint32_t> unlabelled(layout_.points_a_pe, lloyd_rounds<Real, Weighted>::no_cluster);
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            labels_.copy_in(pe, unlabelled);
            centroids_.copy_in(pe, placed);
        }
        partial_.clear();
        sums_.clear();
        progress_.clear();
    }

    /// `visit(i, place)` for coordinate i of the centroids in row order.
    template <class Visit>
    void for_each_centroid(Visit&& visit) const {
        for (std::uint32_t cluster = 0; cluster < layout_.clusters; ++cluster) {
            for (std::uint32_t column = 0; column < layout_.dimensions; ++column) {
                visit(std::size_t{cluster} * layout_.dimensions + column, layout_.centroid_place(cluster, column));
            }
        }
    }

    std::vector<Real> points_of(int pe) const {
        std::vector<Real> placed(layout_.point_places());
        const std::uint64_t first = layout_.first_point(pe);
        interruption_counter counter;
        for (std::uint64_t i = first; i < layout_.first_point(pe + 1); ++i) {
            counter.poll();
            for (std::uint32_t column = 0; column < layout_.dimensions; ++column) {
                placed[layout_.point_place(i - first, column)] = given_.coordinates[i * layout_.dimensions + column];
            }
        }
        return placed;
    }

    std::vector<double> weights_of(int pe, const std::vector<double>& all) const {
        std::vector<double> part(all.begin() + static_cast<std::ptrdiff_t>(layout_.first_point(pe)),
                                 all.begin() + static_cast<std::ptrdiff_t>(layout_.first_point(pe + 1)));
        part.resize(layout_.points_a_pe);
        return part;
    }

    void collect(kmeans_result<Real>& result) const {
        result.labels.reserve(given_.count);
        for (int pe = 0; pe < runtime_.n_pes(); ++pe) {
            const auto part = labels_.copy_out(pe);
            const auto count = layout_.first_point(pe + 1) - layout_.first_point(pe);
            result.labels.insert(result.labels.end(), part.begin(), part.begin() + static_cast<std::ptrdiff_t>(count));
            const kmeans_progress progress = progress_.copy_out(pe)[0];
            result.empties += progress.empties;
            result.n_iter = static_cast<std::uint32_t>(progress.rounds);  // the same on all
            result.converged = progress.converged != 0;
        }
        std::vector<centroid_group<Real>> placed = centroids_.copy_out(0);
        result.cluster_centers.resize(std::size_t{layout_.clusters} * layout_.dimensions);
        for_each_centroid(
            [&](std::size_t i, std::uint64_t place) { result.cluster_centers[i] = centroid_at(placed.data(), place); });
        measure(result);
    }

    void measure(kmeans_result<Real>& result) const {
        result.sizes.resize(layout_.clusters);
        interruption_counter counter;
        for (std::uint64_t i = 0; i < given_.count; ++i) {
            counter.poll();
            const auto cluster = static_cast<std::size_t>(result.labels[i]);
            ++result.sizes[cluster];
            const Real* const x = given_.coordinates + i * layout_.dimensions;
            const Real* const c = result.cluster_centers.data() + cluster * layout_.dimensions;
            double squares = 0;
            for (std::uint32_t column = 0; column < layout_.dimensions; ++column) {
                const double apart = static_cast<double>(x[column]) - static_cast<double>(c[column]);
                squares += apart * apart;
            }
            result.inertia += Weighted ? given_.weights[i] * squares : squares;
        }
    }

    point_rows<Real> given_;
    const std::vector<Real>& initial_;
    kmeans_options options_;
    runtime& runtime_;
    kmeans_layout layout_;
    symmetric_array<Real> points_;
    symmetric_array<double> weights_;
    symmetric_array<std::uint32_t> labels_;
    symmetric_array<centroid_group<Real>> centroids_;
    symmetric_array<fixed_column> columns_;
    symmetric_array<std::uint64_t> partial_;
    symmetric_array<std::uint64_t> sums_;
    symmetric_array<kmeans_progress> progress_;
};

template <class Real>
kmeans_result<Real> run_on(runtime& runtime, const point_rows<Real>& points, const std::vector<Real>& initial,
                           const kmeans_options& options) {
    if (points.weights != nullptr) return kmeans_job<Real, true>(runtime, points, initial, options).run();
    return kmeans_job<Real, false>(runtime, points, initial, options).run();
}

}  // namespace

template <class Real>
kmeans_result<Real> kmeans(const point_rows<Real>& points, const std::vector<Real>& initial,
                           const kmeans_options& options) {
    require_sound(points, initial, options);
    runtime runtime(options.job);
    return run_on(runtime, points, initial, options);
}

template <class Real>
kmeans_result<Real> kmeans(runtime& runtime, const point_rows<Real>& points, const std::vector<Real>& initial,
                           const kmeans_options& options) {
    require_sound(points, initial, options);
    return run_on(runtime, points, initial, options);
}

template kmeans_result<float> kmeans(const point_rows<float>&, const std::vector<float>&, const kmeans_options&);
template kmeans_result<double> kmeans(const point_rows<double>&, const std::vector<double>&, const kmeans_options&);
template kmeans_result<float> kmeans(runtime&, const point_rows<float>&, const std::vector<float>&,
                                     const kmeans_options&);
template kmeans_result<double> kmeans(runtime&, const point_rows<double>&, const std::vector<double>&,
                                      const kmeans_options&);

}  // namespace laneway::apps
