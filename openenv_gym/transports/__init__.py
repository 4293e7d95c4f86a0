"""How frames travel: addresses, time-outs, connections and the thread they live on."""
