/* SPDX-License-Identifier: MIT
 *
 * .npy files: the bytes that NumPy 2 writes for the same arrays, and files that are not what they should be.
 */
#include "exec/kernels/npy.h"

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "exec/kernels/data.h"
#include "tests/support/cmocka_all.h"

static char folder[] = "/tmp/ringlab-npy-XXXXXX";
static char path[64];

static int make_folder(void **state)
{
    (void)state;
    if (mkdtemp(folder) == NULL)
        return -1;
    snprintf(path, sizeof(path), "%s/x.npy", folder);
    return 0;
}

static int remove_folder(void **state)
{
    (void)state;
    unlink(path);
    return rmdir(folder);
}

static size_t read_bytes(char *bytes, size_t room)
{
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, room, file);
    fclose(file);
    return n;
}

static void write_bytes(const char *bytes, size_t n)
{
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, n, file), n);
    assert_int_equal(fclose(file), 0);
}

/* A whole file of 128 bytes of header, as NumPy lays it out, and n_zeros bytes of numbers. */
static size_t numpy_file(char *bytes, const char *dictionary, size_t n_zeros)
{
    memset(bytes, 0, 1024);
    memcpy(bytes, "\x93NUMPY\x01\x00\x76\x00", 10);
    memset(bytes + 10, ' ', 117);
    memcpy(bytes + 10, dictionary, strlen(dictionary));
    bytes[127] = '\n';
    return 128 + n_zeros;
}

static void assert_written_like_numpy(enum ring_dtype dtype, const uint64_t *shape, uint32_t n_dims,
                                      const char *dictionary, size_t n_bytes)
{
    static const char zeros[64] = {0};
    char wanted[1024], found[1024];
    struct ring_error error;
    size_t n_wanted = numpy_file(wanted, dictionary, n_bytes);
    assert_int_equal(npy_write(path, dtype, zeros, shape, n_dims, &error), RING_OK);
    assert_int_equal(read_bytes(found, sizeof(found)), n_wanted);
    assert_memory_equal(found, wanted, n_wanted);
}

static void files_are_byte_for_byte_those_of_numpy(void **state)
{
    (void)state;
    assert_written_like_numpy(RING_FP32, (uint64_t[]){2, 3}, 2,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24);
    assert_written_like_numpy(RING_FP64, (uint64_t[]){5}, 1,
                              "{'descr': '<f8', 'fortran_order': False, 'shape': (5,), }", 40);
    assert_written_like_numpy(RING_FP64, NULL, 0, "{'descr': '<f8', 'fortran_order': False, 'shape': (), }",
                              8);
    assert_written_like_numpy(RING_BF16, (uint64_t[]){1, 1, 7}, 3,
                              "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 7), }", 28);
}

static void what_is_written_is_read(void **state)
{
    double numbers[3000];
    uint16_t halves[3000];
    struct npy_array array;
    struct ring_error error;
    (void)state;
    for (size_t i = 0; i < 3000; i++) {
        numbers[i] = (double)i / 7.0 - 100.0;
        data_store(RING_BF16, halves, i, numbers[i]);
    }
    assert_int_equal(npy_write(path, RING_FP64, numbers, (uint64_t[]){30, 4, 25}, 3, &error), RING_OK);
    assert_int_equal(npy_read(path, &array, &error), RING_OK);
    assert_int_equal(array.dtype, RING_FP64);
    assert_int_equal(array.n_dims, 3);
    assert_true(array.shape[0] == 30 && array.shape[1] == 4 && array.shape[2] == 25);
    assert_memory_equal(array.data, numbers, sizeof(numbers));
    npy_free(&array);

    assert_int_equal(npy_write(path, RING_BF16, halves, (uint64_t[]){3000}, 1, &error), RING_OK);
    assert_int_equal(npy_read(path, &array, &error), RING_OK);
    assert_int_equal(array.dtype, RING_FP32);
    for (size_t i = 0; i < 3000; i++)
        assert_true(((float *)array.data)[i] == (float)data_load(RING_BF16, halves, i));
    npy_free(&array);
}

static void assert_refused(const char *dictionary, size_t n_zeros, const char *reason)
{
    char bytes[1024];
    struct npy_array array;
    struct ring_error error;
    write_bytes(bytes, numpy_file(bytes, dictionary, n_zeros));
    assert_int_equal(npy_read(path, &array, &error), RING_BAD_INPUT);
    assert_null(array.data);
    assert_non_null(strstr(error.text, path));
    assert_non_null(strstr(error.text, reason));
}

static void files_that_do_not_fit_are_refused_with_what_is_wanted(void **state)
{
    (void)state;
    assert_refused("{'descr': '<i4', 'fortran_order': False, 'shape': (2, 3), }", 24,
                   "wanted '<f4' or '<f8'");
    assert_refused("{'descr': '>f4', 'fortran_order': False, 'shape': (2, 3), }", 24,
                   "wanted '<f4' or '<f8'");
    assert_refused("{'fortran_order': False, 'shape': (2, 3), }", 24, "missing");
    assert_refused("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }", 24, "wanted C order");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 23, "23 bytes of numbers");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 28, "wants 24");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296), }", 0,
                   "over");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999,), }", 0,
                   "no shape");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (1,1,1,1,1,1,1,1,1), }", 4, "no shape");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (-2, 3), }", 24, "no shape");
    assert_refused("{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3", 24, "no shape");
    assert_refused("{'descr': '<f4', 'fortran_order': False, }", 24, "no shape");
}

/* Cut anywhere, a file is refused and nothing is read beyond its end. */
static void a_file_that_ends_early_is_refused_wherever_it_ends(void **state)
{
    char bytes[1024];
    size_t n = numpy_file(bytes, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", 24);
    struct npy_array array;
    struct ring_error error;
    (void)state;
    for (size_t cut = 0; cut < n; cut++) {
        write_bytes(bytes, cut);
        assert_int_equal(npy_read(path, &array, &error), RING_BAD_INPUT);
        assert_null(array.data);
    }
}

static void a_missing_file_is_named_with_the_systems_reason(void **state)
{
    struct npy_array array;
    struct ring_error error;
    (void)state;
    assert_int_equal(npy_read("/nowhere/x.npy", &array, &error), RING_IO);
    assert_string_equal(error.text, "/nowhere/x.npy: cannot be read: No such file or directory");
}

static void a_failed_write_leaves_nothing_behind(void **state)
{
    struct ring_error error;
    static const float zeros[4] = {0};
    char inside[80];
    (void)state;
    assert_int_equal(npy_write("/nowhere/x.npy", RING_FP32, zeros, (uint64_t[]){4}, 1, &error), RING_IO);
    assert_string_equal(error.text, "/nowhere/x.npy: cannot be written: No such file or directory");
    assert_int_equal(npy_write(path, RING_FP32, zeros, (uint64_t[]){1, 1, 1, 1, 1, 1, 1, 1, 1}, 9, &error),
                     RING_BAD_INPUT);

    /* the target is a folder, so the last step, renaming, fails */
    snprintf(inside, sizeof(inside), "%s/taken", folder);
    assert_int_equal(mkdir(inside, 0700), 0);
    assert_int_equal(npy_write(inside, RING_FP32, zeros, (uint64_t[]){4}, 1, &error), RING_IO);
    assert_int_equal(rmdir(inside), 0);
    DIR *listing = opendir(folder);
    for (struct dirent *entry = readdir(listing); entry != NULL; entry = readdir(listing))
        assert_null(strstr(entry->d_name, "tmp"));
    closedir(listing);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(files_are_byte_for_byte_those_of_numpy),
        cmocka_unit_test(what_is_written_is_read),
        cmocka_unit_test(files_that_do_not_fit_are_refused_with_what_is_wanted),
        cmocka_unit_test(a_file_that_ends_early_is_refused_wherever_it_ends),
        cmocka_unit_test(a_missing_file_is_named_with_the_systems_reason),
        cmocka_unit_test(a_failed_write_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
