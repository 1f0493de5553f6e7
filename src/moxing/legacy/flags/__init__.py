"""The program's command line: tf.flags, tf.app and argparse beside openmox's own flags."""
