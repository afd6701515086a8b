// Lets a system call on the files of one folder fail in a program that was started with this library preloaded.
//
// It is in C since Swift cannot define functions with variable arguments, as open is. The tests compile it themselves
// (SystemFaults.swift), so that no build and no user of the package has anything to do with it.
//
// The program arms one fault at a time, by names that it looks up: which call, what becomes of it, and which of these calls by
// their numbers, counted from one and over all threads. All other calls do what they always do.

#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

// FAIL does nothing and reports an error; LATE does it, or the half of it, and reports an error; SHORT does a half; NOTHING
// reports success, of no byte.
enum outcome { NORMAL, FAIL, LATE, SHORT, NOTHING };

static char folder[4096], fault_call[32], last_path[4096];
static enum outcome fault_outcome;
static int fault_error;
static long fault_first, fault_last, fault_step;
static atomic_int armed;
static atomic_long calls, fired;

static const struct { const char *name; int number; } errors[] = {
    {"EIO", EIO}, {"ENOSPC", ENOSPC}, {"EDQUOT", EDQUOT}, {"EFBIG", EFBIG}, {"EROFS", EROFS}, {"EINTR", EINTR},
    {"EMFILE", EMFILE}, {"ENOSYS", ENOSYS}, {"ENOLCK", ENOLCK}, {"EPERM", EPERM}, {"ENOMEM", ENOMEM},
};

// Arms the calls from number first to number last, each of them or one of so many. A fault is the name of an error, perhaps with
// "-late" behind it, or short, or nothing. Without a call it disarms. Returns 0 if it knows the fault.
int graph_faults_arm(const char *path, const char *call, const char *fault, long first, long last, long step) {
    atomic_store(&armed, 0);
    atomic_store(&calls, 0);
    atomic_store(&fired, 0);
    last_path[0] = 0;
    if (!call[0]) return 0;
    // As the system names it, whatever links lead there.
    if (!realpath(path, folder)) snprintf(folder, sizeof folder, "%s", path);
    snprintf(fault_call, sizeof fault_call, "%s", call);
    fault_first = first, fault_last = last, fault_step = step < 1 ? 1 : step, fault_error = 0;
    fault_outcome = !strcmp(fault, "short") ? SHORT : !strcmp(fault, "nothing") ? NOTHING : NORMAL;
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++) {
        size_t length = strlen(errors[i].name);
        if (strncmp(fault, errors[i].name, length)) continue;
        if (!fault[length] || !strcmp(fault + length, "-late")) {
            fault_error = errors[i].number;
            fault_outcome = fault[length] ? LATE : FAIL;
        }
    }
    if (fault_outcome == NORMAL) return -1;
    atomic_store(&armed, 1);
    return 0;
}

// How many calls failed, and how many there were; which file the first one that failed was about.
long graph_faults_fired(void) { return atomic_load(&fired); }
long graph_faults_calls(void) { return atomic_load(&calls); }
const char *graph_faults_path(void) { return last_path; }

static enum outcome outcome_of(const char *call, const char *path) {
    if (!atomic_load(&armed) || strcmp(call, fault_call) || strncmp(path, folder, strlen(folder))) return NORMAL;
    long number = atomic_fetch_add(&calls, 1) + 1;
    if (number < fault_first || number > fault_last || (number - fault_first) % fault_step) return NORMAL;
    // One call at a time is what most faults are about; of several, any of their names will do.
    if (atomic_fetch_add(&fired, 1) == 0) snprintf(last_path, sizeof last_path, "%s", path);
    errno = fault_error;
    return fault_outcome;
}

static enum outcome outcome_for(const char *call, int descriptor) {
    if (!atomic_load(&armed) || strcmp(call, fault_call)) return NORMAL;
    char name[64], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    int saved = errno;
    ssize_t length = readlink(name, path, sizeof path - 1);
    errno = saved;
    if (length < 0) return NORMAL;
    path[length] = 0;
    return outcome_of(call, path);
}

#define REAL(name)                                                                                                     \
    static typeof(&name) real;                                                                                         \
    if (!real) real = (typeof(&name))dlsym(RTLD_NEXT, #name)

// Defines a call: its result and that of a failure, its name, what the fault depends on, its parameters, and its arguments.
#define WRAP(result, failure, name, find, parameters, ...)                                                             \
    result name parameters {                                                                                           \
        REAL(name);                                                                                                    \
        enum outcome outcome = find;                                                                                   \
        if (outcome == FAIL) return failure;                                                                           \
        result value = real(__VA_ARGS__);                                                                              \
        if (outcome != LATE) return value;                                                                             \
        errno = fault_error;                                                                                           \
        return failure;                                                                                                \
    }

WRAP(int, -1, fsync, outcome_for("fsync", descriptor), (int descriptor), descriptor)
WRAP(int, -1, fdatasync, outcome_for("fdatasync", descriptor), (int descriptor), descriptor)
WRAP(int, -1, ftruncate, outcome_for("ftruncate", descriptor), (int descriptor, off_t length), descriptor, length)
WRAP(int, -1, fstat, outcome_for("fstat", descriptor), (int descriptor, struct stat *status), descriptor, status)
// What gives a lock back never fails.
WRAP(int, -1, flock, operation == LOCK_UN ? NORMAL : outcome_for("flock", descriptor), (int descriptor, int operation),
     descriptor, operation)
WRAP(off_t, -1, lseek, outcome_for("lseek", descriptor), (int descriptor, off_t offset, int from),
     descriptor, offset, from)
WRAP(int, -1, lstat, outcome_of("lstat", path), (const char *path, struct stat *status), path, status)
WRAP(int, -1, rename, outcome_of("rename", path), (const char *path, const char *new_path), path, new_path)
WRAP(int, -1, renameat2, outcome_of("renameat2", path),
     (int from, const char *path, int to, const char *new_path, unsigned flags),
     from, path, to, new_path, flags)
WRAP(int, -1, link, outcome_of("link", path), (const char *path, const char *new_path), path, new_path)
WRAP(int, -1, unlink, outcome_of("unlink", path), (const char *path), path)
WRAP(char *, NULL, realpath, outcome_of("realpath", path), (const char *path, char *resolved), path, resolved)
WRAP(DIR *, NULL, opendir, outcome_of("opendir", path), (const char *path), path)
WRAP(struct dirent *, NULL, readdir, outcome_for("readdir", dirfd(stream)), (DIR *stream), stream)

int close(int descriptor) {
    REAL(close);
    enum outcome outcome = outcome_for("close", descriptor);
    // On Linux the descriptor is gone whatever it reports.
    int result = real(descriptor);
    if (outcome == NORMAL) return result;
    errno = fault_error;
    return -1;
}

int open(const char *path, int flags, ...) {
    REAL(open);
    va_list arguments;
    va_start(arguments, flags);
    mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(arguments, mode_t) : 0;
    va_end(arguments);
    return outcome_of("open", path) == FAIL ? -1 : real(path, flags, mode);
}

int statx(int from, const char *path, int flags, unsigned mask, struct statx *status) {
    REAL(statx);
    enum outcome outcome = path[0] ? outcome_of("statx", path) : outcome_for("statx", from);
    return outcome == FAIL ? -1 : real(from, path, flags, mask, status);
}

static ssize_t part(enum outcome outcome, size_t count) {
    return outcome == NOTHING ? 0 : count > 1 && outcome != NORMAL ? count / 2 : count;
}

ssize_t pread(int descriptor, void *bytes, size_t count, off_t offset) {
    REAL(pread);
    enum outcome outcome = outcome_for("pread", descriptor);
    return outcome == FAIL ? -1 : real(descriptor, bytes, part(outcome, count), offset);
}

ssize_t pwrite(int descriptor, const void *bytes, size_t count, off_t offset) {
    REAL(pwrite);
    enum outcome outcome = outcome_for("pwrite", descriptor);
    if (outcome == FAIL) return -1;
    ssize_t result = real(descriptor, bytes, part(outcome, count), offset);
    if (outcome != LATE) return result;
    errno = fault_error;
    return -1;
}
