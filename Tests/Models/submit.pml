/*
 * smq_submit(): two threads put messages into a SharedQueue, and its owner sleeps unless it is woken up. Tests/Models/check
 * has SPIN go through all interleavings, and says with which of the switches below what has to come out.
 *
 * What threads share is one word (ChainEnd), the links and slots that it publishes, and the eventfd. Of the chain only
 * matters which messages are in it: a bit each.
 *
 * SPIN's memory is sequentially consistent; that of processors is not. So the word's history is kept: an exchange acts on
 * the newest value, as it does everywhere, but a relaxed load gives any value that is no older than what the thread has
 * seen, or what it must have seen because of what happened before. That is what C11 allows for one location, whose
 * changes all threads see in one order; since there is only one, there is no question of the order between several. The slots behind it
 * come with release and acquire, which is for the thread sanitizer to judge. That who returns from epoll_wait() sees what was
 * there before the write() that has wakened it is a promise of the kernel's locks: the switch UNORDERED takes it away.
 *
 * What must never be: the owner sleeps, no wake-up is on its way, no thread is in smq_submit(), and a message lies there. With
 * PROMPT more is asked: that no message lies there whose own smq_submit() has returned, even if another thread is
 * stopped in the middle.
 */
#ifndef MESSAGES
#define MESSAGES 2 /* of each of the two threads */
#endif
#ifndef CHAINS
#define CHAINS 64 /* how many numbers there are for chains: 2 has them come round */
#endif
#ifndef SPURIOUS
#define SPURIOUS 1 /* turns of the owner for which nobody has wakened it: a timeout, something on the socket */
#endif
#define ALL ((1 << (2 * MESSAGES)) - 1)

typedef word {
    byte items;
    bit woken;
    byte chain
}

word history[6 * MESSAGES + 1];
byte last; /* the newest value */
byte taken; /* by the owner */
byte returned; /* messages whose smq_submit() has returned */
byte inside; /* threads in smq_submit() */
bit edge; /* what epoll_wait() would return with */
byte carried; /* the newest value that a thread had seen when it wrote to the eventfd */
bit sleeping;
#ifdef OLD /* as it was: who finds no wake-up of this collection noted, wakes the owner up */
byte collections = 1;
byte woken_at;
#endif

inline change(some_items, some_woken, some_chain) {
    history[last + 1].items = some_items;
    history[last + 1].woken = some_woken;
    history[last + 1].chain = some_chain;
    last++
}

/* A relaxed load by a thread that has seen `seen`. */
inline load(seen) {
    do
    :: seen < last -> seen++
    :: break
    od
}

inline exchange_in(item) {
    found.items = history[last].items;
    found.woken = history[last].woken;
    found.chain = history[last].chain;
    change(found.items | item, found.woken, found.chain);
    seen = last
}

inline wake_up() {
    atomic {
        edge = 1;
#ifndef UNORDERED
        if
        :: seen > carried -> carried = seen
        :: else
        fi
#endif
    }
}

inline note() {
    atomic { load(seen) }
    atomic {
        if
        :: history[seen].chain == found.chain && history[last].chain == found.chain &&
           (history[last].items == 0 || !history[last].woken) ->
            change(history[last].items, 1, history[last].chain);
            seen = last
        :: else
        fi
    }
}

proctype submitter(byte me) {
    byte number, seen;
    word found;
#ifdef OLD
    byte collection;
#endif
    for (number : 0 .. MESSAGES - 1) {
        atomic { inside++ }
#ifdef WAKE_FIRST
        wake_up();
#endif
        d_step { exchange_in(1 << (me * MESSAGES + number)) }
#ifdef OLD
        collection = collections;
        if
        :: woken_at != collection -> wake_up(); woken_at = collection
        :: else
        fi;
#else
        if
#ifdef EMPTY_ONLY
        :: found.items == 0 ->
#elif defined(HEEDS_NOTE)
        :: !found.woken ->
#else
        :: found.items == 0 || !found.woken ->
#endif
            atomic { load(seen) }
            if
            :: history[seen].chain == found.chain ->
#ifdef NOTE_FIRST
                note(); wake_up()
#elif defined(WAKE_FIRST)
                note()
#else
                wake_up(); note()
#endif
            :: else
            fi
        :: else
        fi;
#endif
        atomic {
            inside--;
            returned = returned | (1 << (me * MESSAGES + number))
        }
    }
}

active proctype owner() {
    byte seen, spurious;
    do
    :: sleeping = 1;
end_asleep:
       if
       :: atomic {
              edge -> sleeping = 0;
#ifndef DRAINS_LATE
              edge = 0;
#endif
              if
              :: carried > seen -> seen = carried
              :: else
              fi
          }
       :: atomic { spurious < SPURIOUS -> spurious++; sleeping = 0 }
       fi;
       atomic { load(seen) }
       if
       :: history[seen].items != 0 ->
#ifdef OLD
           collections++;
#endif
           d_step {
               taken = taken | history[last].items;
               change(0, 0, (history[last].chain + 1) % CHAINS);
               seen = last
           }
       :: else
       fi;
#ifdef DRAINS_LATE
       edge = 0
#endif
    od
}

active proctype watch() {
end_watch:
    atomic {
#ifdef REACHES_THE_END
        taken == ALL && sleeping && !edge && inside == 0 -> assert(false)
#elif defined(PROMPT)
        sleeping && !edge && (history[last].items & returned) != 0 -> assert(false)
#else
        sleeping && !edge && inside == 0 && history[last].items != 0 -> assert(false)
#endif
    }
}

init {
    atomic {
        run submitter(0);
        run submitter(1)
    }
}
