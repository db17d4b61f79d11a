/* SPDX-License-Identifier: MIT
 *
 * The device files that come with the project: each loads, and its curves are of the kind that its name
 * promises. */
#include <dirent.h>
#include <stdio.h>
#include <string.h>

#include "config/config.h"
#include "tests/support/cmocka_all.h"

static void every_device_file_loads(void **state)
{
    DIR *folder = opendir("models/devices");
    int n_files = 0;

    (void)state;
    assert_non_null(folder);
    for (struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) {
        char path[512];
        struct config_summary summary;
        struct ring_error error;
        if (!strstr(entry->d_name, ".yaml"))
            continue;
        snprintf(path, sizeof path, "models/devices/%s", entry->d_name);
        if (config_check(path, &summary, &error) != RING_OK)
            fail_msg("%s", error.text);
        assert_int_equal(summary.kind, CONFIG_DEVICE);
        n_files++;
    }
    closedir(folder);
    assert_true(n_files >= 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_device_file_loads),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
