/* The eight calls from C: Figure 5 of the GeMTC paper with a kernel that can be checked, and wrong use of each call. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "laneway/tasks.h"

enum { MATRIX_MULTIPLY, FAIL_ALWAYS, COUNT_LANES };
enum { TASKS = 200, MAX_WIDTH = 12, QUEUE_SIZE = 64 };

static int failures = 0;

static void expect(int holds, const char* what) {
    if (holds) return;
    ++failures;
    fprintf(stderr, "FAILED: %s (last error: %s)\n", what, laneway_last_error());
}

static void expect_error(int code, const char* words) {
    expect(code < 0, words);
    expect(strstr(laneway_last_error(), words) != NULL, words);
}

static int width_of(int task) { return 1 + task % MAX_WIDTH; }

static void fill(float* boxed, int task) {
    const int width = width_of(task), size = width * width;
    boxed[0] = (float)width;
    for (int i = 0; i < size; ++i) {
        boxed[1 + i] = (float)(i % 7 + task % 3);
        boxed[1 + size + i] = (float)(i % 5 - 2);
    }
}

static int is_product(const float* boxed) {
    const int width = (int)boxed[0], size = width * width;
    for (int i = 0; i < width; ++i) {
        for (int j = 0; j < width; ++j) {
            float sum = 0;
            for (int k = 0; k < width; ++k) sum += boxed[1 + i * width + k] * boxed[1 + size + k * width + j];
            if (boxed[1 + 2 * size + i * width + j] != sum) return 0;
        }
    }
    return 1;
}

static void run_tasks(void) {
    static float host[1 + 3 * MAX_WIDTH * MAX_WIDTH];
    static char told[TASKS];
    const size_t bytes = sizeof host;
    for (int task = 0; task < TASKS; ++task) {
        void* const params = laneway_malloc(bytes);
        fill(host, task);
        expect(params != NULL && laneway_memcpy_to_device(params, host, bytes) == 0, "copy to the device");
        expect(laneway_push(MATRIX_MULTIPLY, 32, task, params) == 0, "push");
    }
    for (int left = TASKS; left > 0;) {
        int task = -1;
        void* params = NULL;
        const int polled = laneway_poll(&task, &params);
        expect(polled >= 0, "poll");
        if (polled <= 0) continue;
        --left;
        expect(task >= 0 && task < TASKS && !told[task], "each task is told once");
        told[task] = 1;
        expect(laneway_memcpy_to_host(host, params, bytes) == 0, "copy to the host");
        expect((int)host[0] == width_of(task) && is_product(host), "the product");
        expect(laneway_free(params) == 0, "free");
    }
}

static void fail_one(void) {
    int task = -1, polled;
    void* params = NULL;
    int mark = 0;
    expect(laneway_push(FAIL_ALWAYS, 1, 77, &mark) == 0, "push");
    while ((polled = laneway_poll(&task, &params)) == 0) {
    }
    expect_error(polled, "failed with 5");
    expect(task == 77 && params == &mark, "the failed task is named");
    expect(laneway_poll(&task, &params) == 0, "nothing is left");
}

/* A kernel runs on as many lanes as push says, or on all of a warp. */
static void count_lanes(void) {
    int told[2], task, most = 0;
    void* params = laneway_malloc(sizeof told);
    for (int threads = 32; threads >= 1; --threads) {
        int polled;
        memset(told, 0, sizeof told);
        expect(laneway_memcpy_to_device(params, told, sizeof told) == 0, "copy to the device");
        expect(laneway_push(COUNT_LANES, threads, threads, params) == 0, "push");
        while ((polled = laneway_poll(&task, &params)) == 0) {
        }
        expect(polled == 1 && laneway_memcpy_to_host(told, params, sizeof told) == 0, "copy to the host");
        if (threads == 32) most = told[0];
        expect(told[0] == (threads < most ? threads : most) && told[1] == told[0], "lanes of the kernel");
    }
    expect_error(laneway_memcpy_to_device(told, params, sizeof told), "beyond the memory of laneway_malloc");
    expect_error(laneway_memcpy_to_host(told, NULL, sizeof told), "beyond the memory of laneway_malloc");
    expect(laneway_free(params) == 0, "free");
}

int main(void) {
    expect_error(laneway_push(MATRIX_MULTIPLY, 32, 1, NULL), "laneway_setup has not been called");
    expect(laneway_malloc(8) == NULL, "no memory before setup");
    expect_error(laneway_setup(0), "queue_size");
    expect(laneway_setup(QUEUE_SIZE) == 0, "setup");
    expect_error(laneway_setup(QUEUE_SIZE), "already");
    run_tasks();
    fail_one();
    count_lanes();
    expect_error(laneway_push(3, 32, 1, NULL), "task type 3: the pool has 3");
    expect_error(laneway_push(-1, 32, 1, NULL), "negative");
    expect_error(laneway_push(MATRIX_MULTIPLY, 33, 1, NULL), "threads");
    expect_error(laneway_free(&failures), "");
    expect(laneway_malloc((size_t)1 << 50) == NULL, "memory that nobody has");
    expect(laneway_cleanup() == 0, "cleanup");
    expect_error(laneway_cleanup(), "laneway_setup has not been called");
    expect(laneway_setup(1) == 0 && laneway_cleanup() == 0, "again");
    if (failures == 0) printf("%d tasks\n", TASKS);
    return failures == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
