/* Records what a process asks of its disk, and what it tells others, in the order in which it happens.
 *
 * It is preloaded into the real binary. Each record goes to the file TEST_POWER_JOURNAL: a write once it was made, a sync
 * when it begins and again when it has ended, an answer before it leaves. So what was synced before an answer left stands
 * before that answer. Only files and folders below TEST_POWER_ROOT count; what goes to a socket or a pipe is an answer.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/types.h>
#include <sys/uio.h>
#include <unistd.h>

struct head { uint32_t kind, bytes; uint64_t file, number; };

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;
static int journal = -1;
static uint64_t syncs;

static void record(char kind, uint64_t file, uint64_t number, const void *bytes, size_t count) {
    struct head head = { (uint32_t)kind, (uint32_t)count, file, number };
    struct iovec parts[2] = { { &head, sizeof head }, { (void *)bytes, count } };
    int before = errno;
    pthread_mutex_lock(&turn);
    if (journal < 0) {
        const char *path = getenv("TEST_POWER_JOURNAL");
        if (path) journal = syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
    }
    if (journal >= 0 && syscall(SYS_writev, journal, parts, 2) != (long)(sizeof head + count)) _exit(99);
    pthread_mutex_unlock(&turn);
    errno = before;
}

/* The path behind a root, if it is there: "data/threadkeep.db". */
static const char *below(const char *path) {
    const char *root = getenv("TEST_POWER_ROOT");
    size_t count = root ? strlen(root) : 0;
    return count && strncmp(path, root, count) == 0 && path[count] == '/' ? path + count + 1 : NULL;
}

static const char *absolute(const char *path, char *into, size_t room) {
    if (path[0] == '/') return path;
    if (!getcwd(into, room)) return path;
    size_t end = strlen(into);
    snprintf(into + end, room - end, "/%s", path[0] == '.' && path[1] == '/' ? path + 2 : path);
    return into;
}

enum kind { OTHER, CONTENT, FOLDER, TALK };

/* What a descriptor is; gives its inode, and its path if it is a folder. */
static enum kind kind_of(int fd, uint64_t *file, char *path, size_t room) {
    struct stat about;
    char link[64];
    int before = errno;
    enum kind kind = OTHER;
    if (fstat(fd, &about) == 0) {
        *file = about.st_ino;
        if (S_ISSOCK(about.st_mode) || S_ISFIFO(about.st_mode)) kind = TALK;
        else if (S_ISREG(about.st_mode) || S_ISDIR(about.st_mode)) {
            snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
            ssize_t count = readlink(link, path, room - 1);
            path[count < 0 ? 0 : count] = 0;
            const char *root = getenv("TEST_POWER_ROOT");
            if (below(path) || (root && strcmp(path, root) == 0)) kind = S_ISDIR(about.st_mode) ? FOLDER : CONTENT;
        }
    }
    errno = before;
    return kind;
}

static void wrote(int fd, const void *bytes, ssize_t count, int64_t at) {
    char path[4096];
    uint64_t file;
    if (count <= 0 || kind_of(fd, &file, path, sizeof path) != CONTENT) return;
    if (at < 0) at = lseek(fd, 0, SEEK_CUR) - count;
    record('w', file, (uint64_t)at, bytes, (size_t)count);
}

static void says(int fd, const void *bytes, size_t count) {
    char path[4096];
    uint64_t file;
    if (kind_of(fd, &file, path, sizeof path) == TALK) record('a', 0, 0, bytes, count);
}

ssize_t write(int fd, const void *bytes, size_t count) {
    says(fd, bytes, count);
    ssize_t done = syscall(SYS_write, fd, bytes, count);
    wrote(fd, bytes, done, -1);
    return done;
}

ssize_t pwrite64(int fd, const void *bytes, size_t count, off64_t at) {
    ssize_t done = syscall(SYS_pwrite64, fd, bytes, count, at);
    wrote(fd, bytes, done, at);
    return done;
}

ssize_t pwrite(int fd, const void *bytes, size_t count, off_t at) { return pwrite64(fd, bytes, count, at); }

ssize_t writev(int fd, const struct iovec *parts, int count) {
    for (int n = 0; n < count; n++) says(fd, parts[n].iov_base, parts[n].iov_len);
    ssize_t done = syscall(SYS_writev, fd, parts, count);
    ssize_t left = done;
    for (int n = 0; n < count && left > 0; n++) {
        ssize_t part = left < (ssize_t)parts[n].iov_len ? left : (ssize_t)parts[n].iov_len;
        char path[4096];
        uint64_t file;
        if (kind_of(fd, &file, path, sizeof path) == CONTENT)
            record('w', file, (uint64_t)(lseek(fd, 0, SEEK_CUR) - left), parts[n].iov_base, (size_t)part);
        left -= part;
    }
    return done;
}

ssize_t send(int fd, const void *bytes, size_t count, int flags) {
    says(fd, bytes, count);
    return syscall(SYS_sendto, fd, bytes, count, flags, NULL, 0);
}

static int synced(int fd, long call) {
    char path[4096];
    uint64_t file, number = __atomic_add_fetch(&syncs, 1, __ATOMIC_SEQ_CST);
    enum kind kind = kind_of(fd, &file, path, sizeof path);
    if (kind == CONTENT || kind == FOLDER) record('b', file, number, "", 0);
    int done = syscall(call, fd);
    if (done == 0 && (kind == CONTENT || kind == FOLDER)) record('e', file, number, "", 0);
    return done;
}

int fsync(int fd) { return synced(fd, SYS_fsync); }
int fdatasync(int fd) { return synced(fd, SYS_fdatasync); }

int ftruncate64(int fd, off64_t size) {
    char path[4096];
    uint64_t file;
    int done = syscall(SYS_ftruncate, fd, size);
    if (done == 0 && kind_of(fd, &file, path, sizeof path) == CONTENT) record('t', file, (uint64_t)size, "", 0);
    return done;
}

int ftruncate(int fd, off_t size) { return ftruncate64(fd, size); }

/* An entry of a folder: the inode of the folder, the inode that the entry names, the path. */
static void entry(char kind, const char *path, uint64_t file) {
    char folder[4096];
    struct stat about;
    if (!below(path)) return;
    snprintf(folder, sizeof folder, "%s", path);
    *strrchr(folder, '/') = 0;
    int before = errno;
    if (stat(folder, &about) == 0) record(kind, about.st_ino, file, below(path), strlen(below(path)));
    errno = before;
}

static int opened(int at, const char *name, int flags, mode_t mode) {
    char into[4096];
    struct stat about;
    const char *path = at == AT_FDCWD ? absolute(name, into, sizeof into) : name;
    int is_new = (flags & O_CREAT) && below(path) && access(path, F_OK) != 0;
    int fd = syscall(SYS_openat, at, name, flags, mode);
    if (fd >= 0 && below(path) && fstat(fd, &about) == 0) {
        if (is_new) entry('c', path, about.st_ino);
        else if ((flags & O_TRUNC) && S_ISREG(about.st_mode)) record('t', about.st_ino, 0, "", 0);
    }
    return fd;
}

#define MODE(flags) ({ mode_t mode = 0; if ((flags) & (O_CREAT | O_TMPFILE)) { va_list rest; va_start(rest, flags); mode = va_arg(rest, mode_t); va_end(rest); } mode; })
int open(const char *path, int flags, ...) { mode_t mode = MODE(flags); return opened(AT_FDCWD, path, flags, mode); }
int open64(const char *path, int flags, ...) { mode_t mode = MODE(flags); return opened(AT_FDCWD, path, flags, mode); }
int openat(int at, const char *path, int flags, ...) { mode_t mode = MODE(flags); return opened(at, path, flags, mode); }
int openat64(int at, const char *path, int flags, ...) { mode_t mode = MODE(flags); return opened(at, path, flags, mode); }

int mkdir(const char *name, mode_t mode) {
    char into[4096];
    struct stat about;
    const char *path = absolute(name, into, sizeof into);
    int done = syscall(SYS_mkdirat, AT_FDCWD, name, mode);
    if (done == 0 && stat(path, &about) == 0) entry('m', path, about.st_ino);
    return done;
}

int unlink(const char *name) {
    char into[4096];
    int done = syscall(SYS_unlinkat, AT_FDCWD, name, 0);
    if (done == 0) entry('u', absolute(name, into, sizeof into), 0);
    return done;
}

int rename(const char *from, const char *to) {
    char one[4096], other[4096];
    struct stat about;
    int done = syscall(SYS_renameat, AT_FDCWD, from, AT_FDCWD, to);
    if (done == 0) {
        const char *new = absolute(to, other, sizeof other);
        if (stat(new, &about) == 0) entry('l', new, about.st_ino);
        entry('u', absolute(from, one, sizeof one), 0);
    }
    return done;
}
