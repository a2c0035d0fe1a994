/* tests/gpu/pocl_locals.c — run by hand: does an OpenCL driver give each work group its own __local array when a
 * function that is not inlined has it?
 *
 * PoCL 3.1 on several threads does not. Its compiler finds that `fold` is always handed the same array and drops the
 * parameter; the pass that makes arrays of a kernel parameters of it looks into kernels alone. The array stays a static
 * variable of the code, one for all threads (`nm` shows it), and work groups that run at once overwrite it.
 *
 *     cc -o /tmp/pocl_locals tests/gpu/pocl_locals.c -l:libOpenCL.so.1
 *     POCL_DEVICES=pthread /tmp/pocl_locals; POCL_DEVICES=basic /tmp/pocl_locals
 *
 * Exit status: 0 all launches were right, 1 some were not, 2 there is no OpenCL here.
 */
#define CL_TARGET_OPENCL_VERSION 120
#include <CL/cl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ROWS = 4096, COLS = 64, N = ROWS * COLS, LAUNCHES = 200 };

static const char text[] =
    "static __attribute__((noinline)) float fold(float v, __local float *room) {\n"
    "    int t = get_local_id(0);\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    room[t] = v;\n"
    "    barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    for (int step = 32; step; step /= 2) {\n"
    "        float other = room[t ^ step];\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "        room[t] = v += other;\n"
    "        barrier(CLK_LOCAL_MEM_FENCE);\n"
    "    }\n"
    "    return v;\n"
    "}\n"
    "__kernel __attribute__((reqd_work_group_size(64, 1, 1))) void rows(__global const float *x, __global float *y) {\n"
    "    __local float room[64];\n"
    "    y[get_global_id(0)] = fold(x[get_global_id(0)], room);\n"
    "}\n";

static void must(int code, const char *what) {
    if (!code) return;
    printf("%s: error %d\n", what, code);
    exit(2);
}

static int wrong_values(const float *x, const float *y) {
    int wrong = 0;
    for (int r = 0; r < ROWS; r++) {
        float want = 0;
        for (int i = 0; i < COLS; i++) want += x[r * COLS + i];
        for (int i = 0; i < COLS; i++) wrong += y[r * COLS + i] != want;
    }
    return wrong;
}

int main(void) {
    static float x[N], y[N];
    const char *source = text;
    char name[200] = "";
    cl_platform_id platform;
    cl_device_id device;
    int code, bad = 0;
    size_t global = N, local = COLS;
    for (int i = 0; i < N; i++) x[i] = (float)(i / COLS % 7 + i % 3);
    must(clGetPlatformIDs(1, &platform, NULL), "platforms");
    must(clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL), "devices");
    clGetDeviceInfo(device, CL_DEVICE_NAME, sizeof name, name, NULL);
    cl_context c = clCreateContext(NULL, 1, &device, NULL, NULL, &code);
    must(code, "context");
    cl_command_queue q = clCreateCommandQueue(c, device, 0, &code);
    must(code, "queue");
    cl_program p = clCreateProgramWithSource(c, 1, &source, NULL, &code);
    must(code ? code : clBuildProgram(p, 1, &device, "", NULL, NULL), "building");
    cl_kernel k = clCreateKernel(p, "rows", &code);
    must(code, "kernel");
    cl_mem a = clCreateBuffer(c, CL_MEM_COPY_HOST_PTR, sizeof x, x, &code), b;
    must(code, "memory");
    b = clCreateBuffer(c, 0, sizeof y, NULL, &code);
    must(code, "memory");
    must(clSetKernelArg(k, 0, sizeof a, &a), "argument");
    must(clSetKernelArg(k, 1, sizeof b, &b), "argument");
    for (int l = 0; l < LAUNCHES; l++) {
        memset(y, 0, sizeof y);
        must(clEnqueueWriteBuffer(q, b, 1, 0, sizeof y, y, 0, NULL, NULL), "writing");
        must(clEnqueueNDRangeKernel(q, k, 1, NULL, &global, &local, 0, NULL, NULL), "launching");
        must(clEnqueueReadBuffer(q, b, 1, 0, sizeof y, y, 0, NULL, NULL), "reading");
        bad += wrong_values(x, y) != 0;
    }
    printf("%s: %d of %d launches wrong\n", name, bad, LAUNCHES);
    return bad != 0;
}
