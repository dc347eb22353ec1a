"""The key figures of a study, for Optuna Dashboard."""

from __future__ import annotations

from html import unescape

from optuna.study import Study


def publish(study: Study) -> list[str]:
    """Store the key figures of a study where Optuna Dashboard shows them. Returns their findings, in order.

    Publishing again replaces them. Needs `pip install 'pellucid[dashboard,plots]'`.

    Args:
        study: any study.
    """
    try:
        from optuna_dashboard import save_plotly_graph_object
    except ImportError as error:
        raise ImportError(
            "Publishing needs optuna-dashboard: install it with `pip install 'pellucid[dashboard]'`."
        ) from error
    from pellucid.reporting.figures import key_figures
    from pellucid.reporting.gather import gather

    findings = []
    for name, figure in key_figures(gather(study, progress=True)):
        # The dashboard shows the figure alone: its title carries the finding.
        save_plotly_graph_object(study, figure, graph_object_id=f"pellucid-{name}")
        findings.append(unescape(figure.layout.meta["finding"]))
    return findings
