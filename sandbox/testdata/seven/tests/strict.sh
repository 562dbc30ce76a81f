echo strict; exit 1
