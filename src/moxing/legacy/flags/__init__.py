"""The program's command line: tf.flags, tf.app and argparse together with openmox's own flags."""
