"""From folders of images to streams of labels: corruptions, models, and what comes between."""
