
_threadkeep_ids() {
    local -a found
    found=("${(@f)$(threadkeep complete threads 2>/dev/null | sed -e 's/:/\\:/g' -e $'s/\t/:/')}")
    _describe -V thread found
}
