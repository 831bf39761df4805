# LLVM's assembly, as GNU's assembler takes it, too. docs/decisions/0027 says what it comes to.

# An empty section for LLVM's linker, of a type that no other knows.
/"\.linker-options"/ { next }

# What aarch64's note of BTI says, once more, in words that binutils 2.40 does not know.
/^\t\.aeabi_(subsection|attribute)\t/ { next }

# The parts of the instruction set one by one, under names that binutils 2.40 does not know. The C compiler is told which it is.
/^\t\.attribute\t5, "rv/ { next }

/^\t\.syntax\tunified/ { isARM = 1 }

# Every constant has a section of its own, as every function has, so that the linker drops those that nothing needs.
/^\t\.section\t/ { inConstants = /^\t\.section\t\.rodata,/ }
/^\t\.(text|data|bss)$/ { inConstants = 0 }

# Text of the program stays as it is.
/^\t\.asci[iz]\t/ {
    print
    next
}

{
    # A literal's symbol has its text for a name, and GNU's assembler takes no quotation marks or escapes in one: a number does.
    line = ""
    while (match($0, /"\.L\.str\.([^"\\]|\\.)*"/)) {
        name = substr($0, RSTART, RLENGTH)
        if (!(name in numbers)) numbers[name] = ++count
        line = line substr($0, 1, RSTART - 1) ".L.text." numbers[name]
        $0 = substr($0, RSTART + RLENGTH)
    }
    line = line $0
    # On Arm GNU's assembler takes the first character of Swift's names for the mark of a number.
    if (isARM) gsub(/\$[es][0-9A-Za-z]/, "_&", line)
    if (inConstants && line ~ /^\t\.section\t\.rodata,/) {
        sub(/\.rodata,/, ".rodata." ++constants ",", line)
        constantFlags = line
        sub(/^[^,]*/, "", constantFlags)
    }
    print line
    if (inConstants && line ~ /^\t\.type\t.*,[@%]object/)
        print "\t.section\t.rodata." ++constants constantFlags
}
