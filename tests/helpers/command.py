"""The command line, called in this process."""

from click.testing import CliRunner

from cassbook.cli.main import main


def cassbook(*arguments, **options):
    """Call `cassbook` with these words, or paths; options are those of `CliRunner.invoke`."""
    return CliRunner().invoke(main, [str(argument) for argument in arguments], **options)
