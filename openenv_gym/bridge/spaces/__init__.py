"""The spaces that Gymnasium lacks, right under shared memory too: free text, free JSON, bounded sequences."""
