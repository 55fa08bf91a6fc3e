/* Many-task computing from C: the eight calls of GeMTC (Krieder and others, Design and Evaluation of the GeMTC
 * Framework for GPU-enabled Many-Task Computing, HPDC 2014, Table 1) with their meaning.
 *
 *     laneway_setup(queue_size);
 *     void* params = laneway_malloc(bytes);
 *     laneway_memcpy_to_device(params, host_params, bytes);
 *     laneway_push(MD_LITE, 32, task_id, params);
 *     while (laneway_poll(&task_id, &params) == 0) {
 *     }
 *     laneway_memcpy_to_host(host_params, params, bytes);
 *     laneway_free(params);
 *     laneway_cleanup();
 *
 * The kernels are functors in C++; LANEWAY_TASK_KERNELS of laneway/task_kernels.hpp defines these functions for them,
 * once in a program. A task's type is the place of its kernel in that list, from 0 on.
 *
 * Functions that return int return a negative number where they fail, those that return a pointer return NULL;
 * laneway_last_error() then says why. Any thread may call them between setup and cleanup. */
#ifndef LANEWAY_TASKS_H
#define LANEWAY_TASKS_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Opens the devices and starts the workers. Up to queue_size tasks may be pushed and not yet done. Devices are those of
 * the environment variable LANEWAY_DEVICES, for example cpu:2 or cuda:0-3; without it every GPU, else one CPU device a
 * core. Memory for laneway_malloc is LANEWAY_TASK_BYTES bytes, 268,435,456 by default. */
int laneway_setup(int queue_size);
/* Waits until all tasks are done and gives the devices back. */
int laneway_cleanup(void);

/* Memory that kernels and these functions reach, aligned to 64 bytes. Where all devices are GPUs it is memory of the
 * first one, which the host reaches by the two copies alone; else memory of the host. Copies do not wait for tasks. One
 * that does not end within its deadline fails, and laneway_free waits for it, as long again at most. */
void* laneway_malloc(size_t bytes);
int laneway_free(void* memory);
int laneway_memcpy_to_device(void* to, const void* from, size_t bytes);
int laneway_memcpy_to_host(void* to, const void* from, size_t bytes);

/* Submits a task; waits while the queue is full. `threads`: lanes that run the kernel, 1 to 32, or all of a warp's
 * where these are fewer: on a CPU device a warp has one, so kernels go by worker.lanes(). `id` is the caller's own
 * number. */
int laneway_push(int type, int threads, int id, void* params);
/* 1: a task is done, whose id and params are stored; each is told once, in the order in which they end. 0: none is done
 * that has not been told; does not wait. Negative: that task has failed (its id and params are stored), or all has. */
int laneway_poll(int* id, void** params);

/* Why the calling thread's last failed call failed; valid until its next one. */
const char* laneway_last_error(void);

#ifdef __cplusplus
}
#endif

#endif
